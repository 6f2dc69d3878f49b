"""The language server as other people's client sees it: every message is checked by the types of `lsprotocol`.

    python3 -m venv venv && venv/bin/pip install -r editors/protocol/requirements.txt
    BROADLOOM=target/release/broadloom venv/bin/pytest editors/protocol
"""

import asyncio
import os

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

COMMAND = os.environ.get("BROADLOOM", "broadloom")
MODEL = """data x : 32 | 784
data target : 32 | 12
def dense(size)(x) = relu({w} @ x + {b : size})
let y = x |> dense(64) |> dense(10)
let loss = mean(square(y - target))
"""
GOOD = MODEL.replace("32 | 12", "32 | 10")


@pytest_lsp.fixture(
    params=["neovim", "visual_studio_code"], config=ClientServerConfig(server_command=[COMMAND, "lsp"])
)
async def client(request, lsp_client: LanguageClient):
    """A client with the abilities of an editor."""
    capabilities = client_capabilities(request.param)

    # What VS Code says it can do: it watches files for the server.
    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(_: types.RegistrationParams):
        return None

    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


def opened(client: LanguageClient, path, text: str) -> str:
    """Opens a document, which may or may not be on disk."""
    uri = path.joinpath("model.loom").as_uri()
    document = types.TextDocumentItem(uri=uri, language_id="loom", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    return uri


def place(uri: str, text: str, word: str, nth: int = 0) -> dict:
    """The document and the position of a word in it."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(word, at + 1)
    before = text[:at].split("\n")
    position = types.Position(line=len(before) - 1, character=len(before[-1]))
    return {"text_document": types.TextDocumentIdentifier(uri=uri), "position": position}


async def published(client: LanguageClient, uri: str, wanted: int):
    """The diagnostics of a document, once there are as many as wanted."""
    for _ in range(100):
        if uri in client.diagnostics and len(client.diagnostics[uri]) == wanted:
            return client.diagnostics[uri]
        await asyncio.sleep(0.1)
    raise AssertionError(f"{client.diagnostics.get(uri)} are not {wanted} diagnostics")


@pytest.mark.asyncio
async def test_a_mistake_and_its_end(client: LanguageClient, tmp_path):
    uri = opened(client, tmp_path, MODEL)
    (wrong,) = await published(client, uri, 1)
    assert wrong.severity == types.DiagnosticSeverity.Error
    assert wrong.range.start.line == 4
    assert {each.location.range.start.line for each in wrong.related_information} >= {1, 2}
    change = types.TextDocumentContentChangeWholeDocument(text=GOOD)
    identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=identifier, content_changes=[change])
    )
    await published(client, uri, 0)


@pytest.mark.asyncio
async def test_shapes_beside_names(client: LanguageClient, tmp_path):
    uri = opened(client, tmp_path, GOOD)
    whole = types.Range(start=types.Position(0, 0), end=types.Position(5, 0))
    identifier = types.TextDocumentIdentifier(uri=uri)
    hints = await client.text_document_inlay_hint_async(
        types.InlayHintParams(text_document=identifier, range=whole)
    )
    labels = [each.label if isinstance(each.label, str) else each.label[0].value for each in hints]
    assert any("32 | 10" in label for label in labels), labels
    hover = await client.text_document_hover_async(types.HoverParams(**place(uri, GOOD, "y =")))
    assert "32 | 10" in hover.contents.value


@pytest.mark.asyncio
async def test_names_lead_to_their_definitions(client: LanguageClient, tmp_path):
    uri = opened(client, tmp_path, GOOD)
    found = await client.text_document_definition_async(
        types.DefinitionParams(**place(uri, GOOD, "dense", 1))
    )
    found = found if isinstance(found, list) else [found]
    assert [each.range.start.line if hasattr(each, "range") else each.target_range.start.line for each in found] == [2]
    uses = await client.text_document_references_async(
        types.ReferenceParams(**place(uri, GOOD, "dense"), context=types.ReferenceContext(include_declaration=True))
    )
    assert len(uses) == 3
    edit = await client.text_document_rename_async(
        types.RenameParams(**place(uri, GOOD, "dense"), new_name="layer")
    )
    changes = edit.changes[uri] if edit.changes else edit.document_changes[0].edits
    assert len(changes) == 3 and {change.new_text for change in changes} == {"layer"}


@pytest.mark.asyncio
async def test_completion_and_signatures(client: LanguageClient, tmp_path):
    text = GOOD + "let z = soft"
    uri = opened(client, tmp_path, text)
    at = place(uri, text, "soft")
    at["position"] = types.Position(at["position"].line, at["position"].character + len("soft"))
    found = await client.text_document_completion_async(types.CompletionParams(**at))
    items = found if isinstance(found, list) else found.items
    assert {"softmax", "softplus"} <= {item.label for item in items}
    inside = place(uri, text, "64)")
    help = await client.text_document_signature_help_async(types.SignatureHelpParams(**inside))
    assert "dense" in help.signatures[0].label


@pytest.mark.asyncio
async def test_symbols_tokens_and_layout(client: LanguageClient, tmp_path):
    text = GOOD.replace("let loss = mean", "let  loss  =  mean")
    uri = opened(client, tmp_path, text)
    identifier = types.TextDocumentIdentifier(uri=uri)
    symbols = await client.text_document_document_symbol_async(
        types.DocumentSymbolParams(text_document=identifier)
    )
    assert {"x", "target", "dense", "y", "loss"} <= {symbol.name for symbol in symbols}
    tokens = await client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(text_document=identifier)
    )
    assert tokens.data and len(tokens.data) % 5 == 0
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    edits = await client.text_document_formatting_async(
        types.DocumentFormattingParams(text_document=identifier, options=options)
    )
    assert any("let loss = mean" in edit.new_text or edit.new_text == " " for edit in edits)


@pytest.mark.asyncio
async def test_advice_is_carried_out(client: LanguageClient, tmp_path):
    text = "data x : 4 | 3\nlet y = sofmax(\"... | v\")(x)\n"
    uri = opened(client, tmp_path, text)
    (wrong,) = await published(client, uri, 1)
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=uri),
            range=wrong.range,
            context=types.CodeActionContext(diagnostics=[wrong]),
        )
    )
    edits = [action.edit for action in actions if isinstance(action, types.CodeAction) and action.edit]
    assert any("softmax" in str(edit) for edit in edits), actions


@pytest.mark.asyncio
async def test_labels_fields_and_arguments(client: LanguageClient, tmp_path):
    text = 'data x : 8 | 6\nlet y = einsum("b | i; i -> h => b | h", x, {w : 6 -> 4})\nprint y.h\nlet z = x |> linear(size = 3)\nprint z\n'
    uri = opened(client, tmp_path, text)
    await published(client, uri, 0)
    field = place(uri, text, "h\n")
    hover = await client.text_document_hover_async(types.HoverParams(**field))
    assert "y.h = 4" in hover.contents.value
    found = await client.text_document_definition_async(types.DefinitionParams(**field))
    found = found if isinstance(found, list) else [found]
    assert [each.range.start.line for each in found] == [1]
    hover = await client.text_document_hover_async(types.HoverParams(**place(uri, text, "size")))
    assert "linear" in hover.contents.value
    found = await client.text_document_definition_async(types.DefinitionParams(**place(uri, text, "size")))
    found = found if isinstance(found, list) else [found]
    assert found[0].uri != uri and found[0].uri.endswith(".loom")


@pytest.mark.asyncio
async def test_systems_of_constraints(client: LanguageClient, tmp_path):
    text = "param ..w..\n[..h..] <= [..w.., n]\n[..w..]~[32]\nn = 8\n"
    uri = tmp_path.joinpath("layer.rows").as_uri()
    document = types.TextDocumentItem(uri=uri, language_id="rows", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    await published(client, uri, 0)
    hover = await client.text_document_hover_async(types.HoverParams(**place(uri, text, "w..,")))
    assert "[32]" in hover.contents.value
    whole = types.Range(start=types.Position(0, 0), end=types.Position(4, 0))
    identifier = types.TextDocumentIdentifier(uri=uri)
    hints = await client.text_document_inlay_hint_async(
        types.InlayHintParams(text_document=identifier, range=whole)
    )
    labels = [each.label if isinstance(each.label, str) else each.label[0].value for each in hints]
    assert labels == [" = [32]", " = [32, 8]", " = 8"]
    edit = await client.text_document_rename_async(
        types.RenameParams(**place(uri, text, "n]"), new_name="out")
    )
    changes = edit.changes[uri] if edit.changes else edit.document_changes[0].edits
    assert len(changes) == 2
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    edits = await client.text_document_formatting_async(
        types.DocumentFormattingParams(text_document=identifier, options=options)
    )
    assert [edit.new_text for edit in edits] == ["[..w..] ~ [32]"]

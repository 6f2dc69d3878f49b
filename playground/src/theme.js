// Dark and light: as the system has it, until the button is pressed.

export function bindTheme(button) {
  const stored = localStorage.getItem("theme");
  const apply = (isDark) => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(isDark));
  };
  apply(stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => {
    const isDark = document.documentElement.dataset.theme !== "dark";
    localStorage.setItem("theme", isDark ? "dark" : "light");
    apply(isDark);
  });
}

//! Convolutions over images `... | h, w, ..c..`.
//!
//! They are correlations, as is usual in deep learning: the kernel is not flipped.

use crate::{Builder, Expr, OperationId, Padding, SpecOptions};
use broadloom_spec::ShapeBuilder;

/// The positions of the taps of a convolution or a pool: output position `o` and tap `k` meet at
/// `stride·o + dilation·k − left`.
///
/// Without padding `left` is 0, every window lies inside, and windows have to fit exactly:
/// `size = stride·(outputs − 1) + dilation·(taps − 1) + 1`. With padding, `size = stride·outputs`, and windows are
/// centred: `left` is half of their span `dilation·(taps − 1) + 1`, rounded down.
///
/// ```
/// use broadloom::blocks::Window;
/// let window = Window::square(3).stride(2).padded();
/// assert_eq!((window.taps, window.stride, window.dilation), ([3, 3], 2, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The number of taps along the height and along the width.
    pub taps: [u64; 2],
    /// The distance between windows.
    pub stride: u64,
    /// The distance between taps.
    pub dilation: u64,
    /// The treatment of the ends of the image.
    pub padding: Padding,
}

impl Window {
    /// A window that lies inside the image and moves by one.
    pub fn new(height: u64, width: u64) -> Window {
        Window { taps: [height, width], stride: 1, dilation: 1, padding: Padding::Valid }
    }

    /// A window that is as high as it is wide.
    pub fn square(taps: u64) -> Window {
        Window::new(taps, taps)
    }

    /// Sets the distance between windows.
    #[must_use]
    pub fn stride(self, stride: u64) -> Window {
        Window { stride, ..self }
    }

    /// Sets the distance between taps.
    #[must_use]
    pub fn dilation(self, dilation: u64) -> Window {
        Window { dilation, ..self }
    }

    /// Centres the window on each position of the image, which is padded.
    #[must_use]
    pub fn padded(self) -> Window {
        Window { padding: Padding::Padded, ..self }
    }

    /// Keeps windows inside the image and drops the rest at its end: there are as many windows as
    /// there is room for.
    #[must_use]
    pub fn dropping(self) -> Window {
        Window { padding: Padding::Dropped, ..self }
    }

    /// An operation by a spec with `stride*…+dilation*…` in it.
    #[track_caller]
    pub(super) fn einsum<'b>(
        &self,
        spec: &str,
        operands: &[Expr<'b>],
        options: &SpecOptions<'_>,
        b: &'b Builder,
    ) -> Expr<'b> {
        let coefficients = [("stride", self.stride), ("dilation", self.dilation)];
        let options = SpecOptions { padding: Some(self.padding), coefficients: &coefficients, ..*options };
        b.einsum_with(spec, operands, &options)
    }
}

/// A convolution, made by [`conv2d`].
#[derive(Clone, Copy, Debug)]
pub struct Conv2d<'b> {
    /// `kh, kw, ..ic.. -> oc`.
    pub kernel: Expr<'b>,
    /// `oc`.
    pub bias: Expr<'b>,
    /// The positions of its taps.
    pub window: Window,
}

/// A convolution over images with a bias for each channel.
///
/// ```text
/// y[oh, ow, o] = bias[o] + Σ kernel[o, kh, kw, i] · x[stride·oh + dilation·kh − top, stride·ow + dilation·kw − left, i]
/// ```
///
/// The number of channels of the result is given, or is `None` and follows from its use.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Window, conv2d};
/// let b = Builder::new();
/// let first = conv2d(&b, "first", 6, Window::square(5));
/// let second = conv2d(&b, "second", 16, Window::square(3).stride(2).padded());
/// let y = second.apply(first.apply(b.data("image", "64 | 28, 28, 1")).relu()).tensor();
/// let kernel = second.kernel.tensor();
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "64 | 12, 12, 16");
/// assert_eq!(g.final_shape(kernel)?.to_string(), "3, 3, 6 -> 16");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn conv2d<'b>(
    b: &'b Builder,
    name: &str,
    channels: impl Into<Option<u64>>,
    window: Window,
) -> Conv2d<'b> {
    let _scope = b.open(name);
    let ([height, width], channels) = (window.taps, channels.into());
    let shape =
        ShapeBuilder::new().size(height).size(width).rest().arrow().size_or_name(channels, "c").finish();
    let kernel = b.param_shaped("kernel", &shape);
    let bias = b.param_shaped("bias", &ShapeBuilder::new().size_or_name(channels, "c").finish());
    Conv2d { kernel, bias, window }
}

impl<'b> Conv2d<'b> {
    /// The convolution of `... | h, w, ..ic..`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        let options = SpecOptions { operation: Some(OperationId::Own("conv2d")), ..SpecOptions::default() };
        let spec = "... | stride*oh+dilation*kh, stride*ow+dilation*kw, ..ic..; kh, kw, ..ic.. -> oc \
                    => ... | oh, ow, oc";
        self.window.einsum(spec, &[x, self.kernel], &options, x.builder()) + self.bias
    }
}

/// A convolution of each channel by itself, made by [`depthwise_conv2d`].
#[derive(Clone, Copy, Debug)]
pub struct DepthwiseConv2d<'b> {
    /// `kh, kw -> ..c..`.
    pub kernel: Expr<'b>,
    /// The positions of its taps.
    pub window: Window,
}

/// A convolution of each channel by itself.
///
/// ```text
/// y[oh, ow, c] = Σ kernel[c, kh, kw] · x[stride·oh + dilation·kh − top, stride·ow + dilation·kw − left, c]
/// ```
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Window, depthwise_conv2d};
/// let b = Builder::new();
/// let blur = depthwise_conv2d(&b, "blur", Window::square(3).padded());
/// let y = blur.apply(b.data("image", "8 | 28, 28, 3")).tensor();
/// let kernel = blur.kernel.tensor();
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "8 | 28, 28, 3");
/// assert_eq!(g.final_shape(kernel)?.to_string(), "3, 3 -> 3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn depthwise_conv2d<'b>(b: &'b Builder, name: &str, window: Window) -> DepthwiseConv2d<'b> {
    let _scope = b.open(name);
    let [height, width] = window.taps;
    let shape = ShapeBuilder::new().size(height).size(width).arrow().rest().finish();
    DepthwiseConv2d { kernel: b.param_shaped("kernel", &shape), window }
}

impl<'b> DepthwiseConv2d<'b> {
    /// The convolution of `... | h, w, ..c..`.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        let options =
            SpecOptions { operation: Some(OperationId::Own("depthwise_conv2d")), ..SpecOptions::default() };
        let spec = "... | stride*oh+dilation*kh, stride*ow+dilation*kw, ..c..; kh, kw -> ..c.. \
                    => ... | oh, ow, ..c..";
        self.window.einsum(spec, &[x, self.kernel], &options, x.builder())
    }
}

/// A convolution in two steps, made by [`separable_conv2d`].
#[derive(Clone, Copy, Debug)]
pub struct SeparableConv2d<'b> {
    /// First over positions, each channel by itself.
    pub depthwise: DepthwiseConv2d<'b>,
    /// Then over channels, each position by itself: a window of one tap.
    pub pointwise: Conv2d<'b>,
}

/// A convolution in two steps (Howard et al., *MobileNets*): over positions for each channel by itself, then over
/// channels for each position by itself.
///
/// ```
/// use broadloom::Builder;
/// use broadloom::blocks::{Window, separable_conv2d};
/// let b = Builder::new();
/// let layer = separable_conv2d(&b, "layer", 64, Window::square(3).stride(2).padded());
/// let y = layer.apply(b.data("x", "8 | 28, 28, 32")).tensor();
/// let kernels = [layer.depthwise.kernel.tensor(), layer.pointwise.kernel.tensor()];
/// let mut g = b.finish()?;
/// assert_eq!(g.final_shape(y)?.to_string(), "8 | 14, 14, 64");
/// assert_eq!(g.final_shape(kernels[0])?.to_string(), "3, 3 -> 32");
/// assert_eq!(g.final_shape(kernels[1])?.to_string(), "1, 1, 32 -> 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[track_caller]
pub fn separable_conv2d<'b>(
    b: &'b Builder,
    name: &str,
    channels: impl Into<Option<u64>>,
    window: Window,
) -> SeparableConv2d<'b> {
    let _scope = b.open(name);
    SeparableConv2d {
        depthwise: depthwise_conv2d(b, "depthwise", window),
        pointwise: conv2d(b, "pointwise", channels, Window::square(1)),
    }
}

impl<'b> SeparableConv2d<'b> {
    /// Both steps.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, x: Expr<'b>) -> Expr<'b> {
        self.pointwise.apply(self.depthwise.apply(x))
    }
}

//! The measures that several benchmarks take: operations of a graph, and the time of processors.

use std::time::Duration;

use broadloom::{Graph, Node};

/// The number of tensors that are not leaves.
pub fn operations(graph: &Graph) -> usize {
    graph.tensors().filter(|tensor| matches!(graph.node(*tensor), Some(Node::Operation { .. }))).count()
}

/// The time that processors have spent on this process.
pub fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        static BEGIN: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        BEGIN.elapsed()
    }
}

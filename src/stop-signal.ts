let signalled: Promise<NodeJS.Signals> | null = null

/**
 * Resolves with the first SIGINT or SIGTERM after the first call, which `serve` makes before anything is loaded: a process that
 * is PID 1 of a container never gets a signal that comes before its listener.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  signalled ??= new Promise((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
  return signalled
}

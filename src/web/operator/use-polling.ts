import { useEffect, useState } from 'preact/hooks'

/** Polls while the page is visible; a new `poll` restarts it. Returns a function that polls at once. */
export function usePolling(poll: (signal: AbortSignal) => Promise<void>, everyMs: number): () => void {
  const [starts, setStarts] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const tick = async (): Promise<void> => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') await poll(signal)
      if (!signal.aborted) timer = setTimeout(tick, everyMs)
    }
    void tick()
    document.addEventListener('visibilitychange', tick, { signal })
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [poll, everyMs, starts])
  return () => setStarts((before) => before + 1)
}

import { useEffect, useState } from 'preact/hooks'

/** Polls while the page is visible; a new `poll` restarts it. Returns a function that polls at once. */
export function usePolling(poll: (signal: AbortSignal) => Promise<void>, everyMs: number): () => void {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const turn = async (): Promise<void> => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') await poll(signal)
      if (!signal.aborted) timer = setTimeout(turn, everyMs)
    }
    void turn()
    document.addEventListener('visibilitychange', turn, { signal })
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [poll, everyMs, round])
  return () => setRound((before) => before + 1)
}

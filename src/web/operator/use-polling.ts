import { useEffect, useState } from 'preact/hooks'

/**
 * Calls `poll` now and `everyMs` after each time that it has settled, while the page is looked at. What it returns is
 * called to poll at once. `poll` has to be the same function for as long as it is to be the same polling.
 */
export const usePolling = (poll: (signal: AbortSignal) => Promise<void>, everyMs: number): (() => void) => {
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

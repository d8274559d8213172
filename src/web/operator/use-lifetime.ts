import { useEffect, useMemo } from 'preact/hooks'

/** Aborts when what uses it is taken off the page. */
export const useLifetime = (): AbortSignal => {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

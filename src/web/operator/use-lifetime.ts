import { useEffect, useMemo } from 'preact/hooks'

export const useLifetime = (): AbortSignal => {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

import { useEffect, useMemo } from 'preact/hooks'

export function useLifetime(): AbortSignal {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

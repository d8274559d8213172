import { useEffect, useMemo } from 'preact/hooks'
import type { AdminApi } from './admin-api.ts'

export type PanelProps = { api: AdminApi; onError: (error: unknown) => string }

/** Aborted when the component is removed. */
export function useLifetime(): AbortSignal {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

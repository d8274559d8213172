import type { UpstreamOptions } from '../domain/upstream.ts'
import type { UpstreamSource } from './upstream-source.ts'

/** An upstream as one configuration shows it: who may see it, and which of two copies of a listing is shown. */
export const presented = (
  upstream: UpstreamSource,
  { visibility, priority }: Pick<UpstreamOptions, 'visibility' | 'priority'>,
): UpstreamSource => {
  const { source } = upstream
  return {
    ...upstream,
    source: {
      ...source,
      visibility,
      priority,
      // A snapshot that has become too large is live from then on.
      get mode() {
        return source.mode
      },
    },
    spec: { ...upstream.spec, visibility, priority },
    status: () => ({ ...upstream.status(), visibility }),
  }
}

import type { Filter } from '../../filter-spec/filter.ts'
import type { ChangelogPosition, Store } from '../../store/store.ts'
import { Projection } from '../projection.ts'
import { SegmentLoad } from './segment-load.ts'

export type Loaded = { projection: Projection; position: ChangelogPosition }

/** Rejects when the store does or the signal aborts. */
export async function loadProjection(
  store: Store,
  filters: readonly Filter[],
  signal?: AbortSignal,
  onWorkerFault?: (cause: unknown) => void,
): Promise<Loaded> {
  const projection = new Projection(filters)
  const load = new SegmentLoad(projection, { onFault: onWorkerFault })
  try {
    const position = await store.load({
      change: (change) => {
        signal?.throwIfAborted()
        projection.apply(change)
      },
      listings: (page) => {
        signal?.throwIfAborted()
        return load.take(page)
      },
    })
    await load.finish()
    return { projection, position }
  } finally {
    await load.close()
  }
}

import { type FeedEntry, GONE } from '../../domain/feed-entry.ts'
import type { NewFeedChange } from '../../store/feed.ts'
import type { statesOf } from './held-copy.ts'
import type { LogInMemory } from './log-in-memory.ts'

type Source = { name: string; statesOf: (listingId: string) => ReturnType<typeof statesOf> }

/** What the log lacks of listings that have changed; `null` where the publisher of a removed one is not known. */
export function unloggedChanges(
  log: LogInMemory,
  { name, statesOf }: Source,
  listingIds: readonly string[],
): Omit<NewFeedChange, 'known'>[] | null {
  const changed = new Set(listingIds)
  const logged = new Map<string, FeedEntry[]>()
  for (const entry of log.after(0))
    if (entry.source === name && changed.has(entry.listingId))
      logged.set(entry.listingId, [...(logged.get(entry.listingId) ?? []), entry])
  const changes: Omit<NewFeedChange, 'known'>[] = []
  for (const listingId of changed) {
    const copies = statesOf(listingId)
    const entries = logged.get(listingId) ?? []
    if (copies.size === 0 && entries.length === 0) return null
    for (const { key, publisher, state } of entries)
      if (state !== GONE && !copies.has(key))
        changes.push({ source: name, key, listingId, publisher, state: GONE })
    for (const [key, { publisher, state }] of copies)
      if (log.latest(name, key)?.state !== state)
        changes.push({ source: name, key, listingId, publisher, state })
  }
  return changes
}

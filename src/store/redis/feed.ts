import type { FeedEntry } from '../../domain/feed-entry.ts'
import { randomId } from '../../domain/random-id.ts'
import { type Feed, type FeedAppend, type FeedRead, feedBytes, type NewFeedChange } from '../feed.ts'
import { SEPARATOR } from './rows.ts'
import { type RedisSession, readScript, type Script, type ScriptArguments } from './session.ts'

/** Changes per atomic step: about 5 ms of Redis. */
const MAX_STEP = 250

/** In Redis under keys of its own, which older versions leave alone. */
export class RedisFeed implements Feed {
  readonly #session: RedisSession
  readonly #onAppend: Feed['onAppend']

  constructor(session: RedisSession, onAppend: Feed['onAppend']) {
    this.#session = session
    this.#onAppend = onAppend
  }

  onAppend(notify: () => void): () => void {
    return this.#onAppend(notify)
  }

  /** In steps of which the last has `followed`, so that a process that dies between them repeats all. */
  async append(
    changes: readonly NewFeedChange[],
    { followed, maxBytes, retentionMs }: FeedAppend,
  ): Promise<void> {
    for (let start = 0; ; start += MAX_STEP) {
      const step = changes.slice(start, start + MAX_STEP)
      const isLast = start + MAX_STEP >= changes.length
      const mark = isLast ? (followed ?? '') : ''
      await this.#call('append', [randomId(), mark, maxBytes, retentionMs, ...step.flatMap(argumentsOf)])
      if (isLast) return
    }
  }

  async read(after: number, limit: number): Promise<FeedRead> {
    const answer = (await this.#call('read', [randomId(), after, limit])) as string[]
    const [incarnation, end, droppedTo, followed] = answer
    const entries: FeedEntry[] = []
    for (let n = 4; n < answer.length; n += 3)
      entries.push(entryOf(Number(answer[n]), Number(answer[n + 1]), answer[n + 2]!))
    return {
      incarnation: incarnation!,
      end: Number(end),
      droppedTo: Number(droppedTo),
      followed: followed || null,
      entries,
    }
  }

  async renew(followed: string | null): Promise<void> {
    await this.#call('renew', [randomId(), followed ?? ''])
  }

  #call(command: string, args: ScriptArguments): Promise<unknown> {
    return this.#session.evaluate(SCRIPT, Object.values(this.#session.feedKeys), [command, ...args])
  }
}

const SCRIPT: Script = readScript('feed.lua')

function argumentsOf(change: NewFeedChange): (string | number)[] {
  const { source, key, listingId, publisher, state, known } = change
  const row = JSON.stringify([source, key, listingId, publisher, state])
  return [[source, key].join(SEPARATOR), row, state, feedBytes(change), known]
}

function entryOf(position: number, at: number, row: string): FeedEntry {
  const [source, key, listingId, publisher, state] = JSON.parse(row)
  return { position, at, source, key, listingId, publisher, state }
}

import { textAt } from '../domain/json-at.ts'
import { merge } from '../domain/merge.ts'
import type { Page } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import { reportFailure, reportPage, type SourceReport } from '../gateway/source-report.ts'
import { readObject } from './client.ts'
import { type Market, routeOf } from './market.ts'
import { tellOutcomes } from './outcomes.ts'
import { type Row, readRow, toRow } from './row.ts'
import type { Registry } from './select-registries.ts'
import type { Terminal } from './terminal.ts'

/** The listing's row with `_meta`, and where it was looked for. */
export type FoundRow = {
  row: Row | null
  registry: Registry | null
  reports: readonly SourceReport[]
  /** By the Registry's URL. */
  faults: ReadonlyMap<string, SourceError>
}

/** Looks in every Registry at once. What each of them said is told on stderr. */
export const find = async (
  terminal: Terminal,
  market: Market,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<FoundRow> => {
  const found = await findEverywhere(market, registries, id, timeoutMs)
  tellOutcomes(terminal, found.reports, found.faults)
  return found
}

export const findEverywhere = async (
  market: Market,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<FoundRow> => {
  const started = performance.now()
  const outcomes = await Promise.all(
    registries.map(async (registry, priority) => {
      const result = await findAttributed(market, registry, id, timeoutMs).catch((cause: unknown) => {
        if (cause instanceof SourceError) return cause
        throw cause
      })
      return {
        registry,
        source: { name: registry.url, priority },
        result,
        elapsedMs: performance.now() - started,
      }
    }),
  )
  const answers = outcomes.flatMap(({ source, result }) =>
    result instanceof SourceError ? [] : [{ source, page: result }],
  )
  const { items } = merge(answers, { offset: 0, limit: registries.length })
  const holder = answers.find(({ page }) => page.items.length > 0)
  const shown = items.find(({ item }) => holder?.page.items.includes(item))
  const reports = outcomes.map(({ registry: { url }, result, elapsedMs }) =>
    result instanceof SourceError
      ? reportFailure(url, result, elapsedMs)
      : reportPage(url, result, holder?.source.name === url ? 1 : 0, elapsedMs),
  )
  const faults = new Map(
    outcomes.flatMap(({ registry, result }) =>
      result instanceof SourceError ? [[registry.url, result] as const] : [],
    ),
  )
  return {
    row: shown === undefined ? null : toRow(shown),
    registry: registries.find(({ url }) => url === holder?.source.name) ?? null,
    reports,
    faults,
  }
}

/** The listing with its publisher's address, which a Registry tells apart from it. */
const findAttributed = async (
  market: Market,
  registry: Registry,
  id: string,
  timeoutMs: number,
): Promise<Page> => {
  const page = await market.findListing(registry, id, timeoutMs)
  const items = page.items.map(async (item) => {
    if (item.publisher !== null || item.origin !== undefined) return item
    const listing = readRow(Buffer.from(item.bytes).toString('utf8'))
    const publisher = await publisherAddress(market, registry, textAt(listing, 'publisher_id'), timeoutMs)
    return { ...item, publisher }
  })
  return { ...page, items: await Promise.all(items) }
}

/** `GET /publishers/{id}` (`protocol.md` 1.10); `null` where the Registry does not tell. */
const publisherAddress = async (
  market: Market,
  registry: Registry,
  publisherId: string | null,
  timeoutMs: number,
): Promise<string | null> => {
  if (publisherId === null || !/^\d+$/.test(publisherId)) return null
  const url = routeOf(registry, `/publishers/${publisherId}`)
  try {
    const reply = await market.send({ method: 'GET', url, key: registry.key, timeoutMs })
    const address = reply.status === 200 ? textAt(readObject(reply), 'identities', 0, 'identifier') : null
    return /^0x[0-9a-f]{40}$/i.test(address ?? '') ? (address?.toLowerCase() ?? null) : null
  } catch (cause) {
    if (cause instanceof SourceError) return null // the listing is shown without
    throw cause
  }
}

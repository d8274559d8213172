import { idOf } from './fake-registry.ts'
import type { RunningService } from './registry.ts'

/** What `GET /listings` of a gateway answers. */
export type Answer = {
  items: { listing_id: string; _meta: Record<string, unknown> & { registry: string; also_in: string[] } }[]
  count: number
  total_after_filter: number
  complete: boolean
  sources: (Record<string, unknown> & { registry: string; state: string; reason?: string })[]
  next_cursor?: string
}

/** A page that is complete. */
export async function readPage(service: RunningService, query: string): Promise<Answer> {
  const { status, text, json } = await service.get(`/listings?${query}`)
  if (status !== 200) throw new Error(`GET /listings?${query} is answered ${status}: ${text}`)
  const page = json() as Answer
  if (!page.complete)
    throw new Error(`GET /listings?${query} is not complete: ${JSON.stringify(page.sources)}`)
  return page
}

/** Ids of the whole sequence by cursor; replicas take turns. `between` runs before each page but the first. */
export async function walkAll(
  services: RunningService | readonly RunningService[],
  query: string,
  between: (pages: number) => unknown = () => {},
): Promise<string[]> {
  const replicas = [services].flat()
  const ids: string[] = []
  let page = await readPage(replicas[0]!, query)
  for (let pages = 1; ; pages++) {
    ids.push(...idsOf(page))
    if (page.next_cursor === undefined) return ids
    if (pages > 100) throw new Error('the walk does not end')
    await between(pages)
    page = await readPage(replicas[pages % replicas.length]!, `${query}&cursor=${page.next_cursor}`)
  }
}

/** Ids of a stream that is complete, without its last line. */
export async function streamAll(service: RunningService, query = ''): Promise<string[]> {
  const { status, text } = await service.get(`/listings?${query}`, { accept: 'application/x-ndjson' })
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const last = lines.pop()
  if (status !== 200 || !last._meta.complete)
    throw new Error(`the stream is not complete: ${JSON.stringify(last)}`)
  return lines.map(({ listing_id }) => listing_id)
}

export function idsOf({ items }: { items: readonly { listing_id: string }[] }): string[] {
  return items.map(({ listing_id }) => listing_id)
}

/** The ids of these listings' JSON texts, in their order. */
export function idsIn(items: readonly string[]): string[] {
  return items.map(idOf)
}

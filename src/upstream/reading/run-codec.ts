import { type Directives, NO_DIRECTIVES } from '../../domain/freshness.ts'
import { isJsonObject } from '../../domain/json.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Range } from '../../domain/reading.ts'
import { ListingPage } from '../page/listing-page.ts'
import { matcherOf } from '../page/matcher.ts'
import { Run, type RunUpstream } from './run.ts'

type PageHead = {
  offset: number
  length: number
  resume?: string
  gatewayId?: string
  directives?: Directives
}

type Head = {
  asOf: number
  after: Range['after']
  isEnded: boolean
  pages: PageHead[]
}

/** A run as bytes: a JSON head and a line feed, then the bodies of its pages. */
export function encodeRun({ asOf, after, isEnded, pages }: Run): Buffer {
  const heads = pages.map(({ offset, resume, gatewayId, directives, bytes }) => ({
    offset,
    length: bytes.length,
    resume,
    gatewayId,
    directives: directives === NO_DIRECTIVES ? undefined : directives,
  }))
  const head = JSON.stringify({ asOf, after, isEnded, pages: heads })
  return Buffer.concat([Buffer.from(`${head}\n`), ...pages.map(({ bytes }) => bytes)])
}

/** Its pages are read as if they came from the upstream: others may write into the same Redis. `null` if they do not join. */
export function decodeRun(bytes: Buffer, upstream: RunUpstream, query: ListingQuery): Run | null {
  try {
    const end = bytes.indexOf(0x0a)
    const head: unknown = JSON.parse(bytes.toString('utf8', 0, end))
    if (!isHead(head)) return null
    const run = new Run(upstream, head.after, head.asOf)
    const matcher = matcherOf(query)
    let start = end + 1
    for (const { offset, length, resume, gatewayId, directives } of head.pages) {
      const body = Buffer.from(bytes.subarray(start, start + length))
      start += length
      const options = { kind: upstream.kind, matcher, offset, resume, gatewayId }
      const page = new ListingPage(body, directives === undefined ? options : { ...options, directives })
      if (!run.isJoint(page)) return null
      run.add(page)
    }
    run.isEnded = head.isEnded
    return run
  } catch {
    return null // not written by us, or cut off: a miss
  }
}

function isHead(value: unknown): value is Head {
  return (
    isJsonObject(value) &&
    Array.isArray(value.pages) &&
    typeof value.asOf === 'number' &&
    typeof value.isEnded === 'boolean' &&
    value.pages.every((page) => isJsonObject(page) && typeof page.length === 'number')
  )
}

import test from 'ava'
import fc from 'fast-check'
import { SourceError } from '../../../src/domain/source/source-error.ts'
import { step, type WalkEvent } from '../../../src/domain/walk/step.ts'
import {
  beginWalk,
  compareRows,
  MAX_PAGE_ITEMS,
  nextRequest,
  OVERLAP,
  type PageRequest,
  type Walk,
  type WalkPage,
  type WalkRules,
} from '../../../src/domain/walk/walk.ts'
import { runs } from '../../helpers/runs.ts'

const RULES: WalkRules = {
  name: 'elsewhere',
  isGateway: false,
  minPageItems: 25,
  maxRepeatedByCursor: 2,
  mayDivide: true,
  mayDivide500: true,
}

/** A listing of an upstream, which serves higher positions first. */
type Listing = { id: number; position: number; isPoison?: boolean }
type Page = WalkPage & { fresh: ReadonlyMap<string, { offset: number; position: number }> }

const MAX_REQUESTS = 500

/** Walks over listings in memory, which `change` may change between two requests. */
function walkOver(listings: Listing[], { change = (_request: number) => {}, limit = MAX_PAGE_ITEMS } = {}) {
  let rows = new Map<string, { offset: number; position: number }>()
  let last: Listing | undefined
  let walk: Walk<Page> = beginWalk(RULES)
  const requests: PageRequest[] = []
  while (requests.length < MAX_REQUESTS) {
    const request = { ...nextRequest(walk), limit: Math.min(limit, nextRequest(walk).limit) }
    change(requests.length)
    requests.push(request)
    const answer = answerOf(request)
    const result = step(walk, answer)
    if (result.accepted !== undefined) {
      for (const [key, row] of result.accepted.fresh) rows.set(key, row)
      last = listings[result.accepted.offset + result.accepted.received - 1] ?? last
    }
    if (result.isRestart) rows = new Map()
    if (result.next instanceof SourceError || result.next === 'done')
      return { end: result.next, ids: new Set([...rows.keys()].map(Number)), requests }
    walk = result.walk
  }
  throw new Error(`no end after ${MAX_REQUESTS} requests`)

  function answerOf(request: PageRequest): WalkEvent<Page> {
    const { offset } = request
    const served = listings.slice(offset, offset + request.limit)
    if (served.some(({ isPoison }) => isPoison))
      return { request, error: new SourceError('http_500', 'a poison row') }
    const keyed = served.map(({ id, position }, n) => [String(id), { offset: offset + n, position }] as const)
    const compared = compareRows(keyed, rows, walk.end)
    const page = {
      offset,
      received: served.length,
      total: Math.max(listings.length, served.length),
      isGateway: false,
      isJoint: offset === 0 || compared.repeatsSome,
      isSorted: true,
      added: compared.fresh.size,
      counted: rows.size + compared.fresh.size + compared.duplicates,
      hasMoved: compared.hasMoved,
      repeatsLast: served[0]?.id === last?.id && served[0]?.position === last?.position,
      lastOffset: served.length === 0 ? undefined : offset + served.length - 1,
    }
    return { request, page: { ...page, fresh: compared.fresh } }
  }
}

function listingsOf(count: number): Listing[] {
  return Array.from({ length: count }, (_, id) => ({ id, position: -id }))
}

test('walk: of any number of listings, each is read, with pages that overlap by ten', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2500 }), fc.integer({ min: 30, max: 200 }), (count, limit) => {
      const { end, ids, requests } = walkOver(listingsOf(count), { limit })
      t.is(end, 'done')
      t.is(ids.size, count)
      t.true(requests.length <= Math.ceil(count / (limit - OVERLAP)) + 2, String(requests.length))
    }),
    { numRuns: runs(100), includeErrorInReport: true },
  )
})

test('walk: a listing that stays in place among publishes and deletions is read, or the walk fails', (t) => {
  const edit = fc.record({
    at: fc.integer({ min: 1, max: 12 }),
    where: fc.nat(999),
    gone: fc.nat(150),
    come: fc.nat(60),
  })
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 6 }), fc.integer({ min: 30, max: 200 }), (edits, limit) => {
      const listings = listingsOf(700)
      const stays = new Set(listings.map(({ id }) => id))
      let newest = 0
      const change = (request: number) => {
        for (const { at, where, gone, come } of edits) {
          if (at !== request) continue
          const from = Math.floor((where / 1000) * listings.length)
          for (const { id } of listings.splice(from, gone)) stays.delete(id)
          for (let n = 0; n < come; n++) listings.unshift({ id: 10_000 + ++newest, position: newest })
        }
      }
      const { end, ids } = walkOver(listings, { change, limit })
      if (end === 'done')
        t.deepEqual(
          [...stays].filter((id) => !ids.has(id)),
          [],
        )
      else t.true(['unstable', 'bad_envelope'].includes(end.reason), end.message)
    }),
    { numRuns: runs(300), includeErrorInReport: true },
  )
})

test('walk: listings that fail any page with them hide no other', (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(399), { maxLength: 5 }), (poison) => {
      const listings = listingsOf(400).map((one) => ({ ...one, isPoison: poison.includes(one.id) }))
      const { ids, requests } = walkOver(listings)
      t.deepEqual(
        listings.filter(({ id, isPoison }) => !isPoison && !ids.has(id)),
        [],
      )
      t.true(requests.length <= 80 * (poison.length + 1), String(requests.length))
    }),
    { numRuns: runs(200), includeErrorInReport: true },
  )
})

test('walk: an upstream whose listings are others with every request is left', (t) => {
  const listings = listingsOf(700)
  let next = 10_000
  const change = () => {
    for (const one of listings) one.id = next++
  }
  t.like(walkOver(listings, { change }).end, { reason: 'unstable' })
})

test('walk: judging an answer changes no walk', (t) => {
  const walk: Walk<WalkPage> = Object.freeze({ ...beginWalk(RULES), end: 100 })
  const before = structuredClone({ ...walk, rules: null })
  const request = nextRequest(walk)
  t.deepEqual(request, { offset: 100 - OVERLAP, limit: MAX_PAGE_ITEMS })
  const page: WalkPage = {
    offset: request.offset,
    received: MAX_PAGE_ITEMS,
    total: 1000,
    isGateway: false,
    isJoint: true,
    isSorted: true,
    added: MAX_PAGE_ITEMS,
    counted: MAX_PAGE_ITEMS,
    hasMoved: false,
  }
  const error = new SourceError('http_500', 'down')
  for (const event of [
    { request, page },
    { request, page: { ...page, isJoint: false } },
    { request, error },
  ]) {
    t.deepEqual(step(walk, event), step(walk, event))
    t.deepEqual({ ...walk, rules: null }, before)
  }
})

test('walk: an upstream that cannot serve a listing is left after 1,000 of them', (t) => {
  const error = new SourceError('http_500', 'a poison row')
  let walk: Walk<WalkPage> = { ...beginWalk(RULES), isDividing: true }
  const skipped: number[] = []
  for (let next: unknown = null; next !== error; ) {
    const result = step(walk, { request: nextRequest(walk), error })
    if (result.skipped !== undefined) skipped.push(result.skipped)
    ;({ walk, next } = result)
  }
  t.deepEqual(
    skipped,
    Array.from({ length: 1000 }, (_, n) => n),
  )
})

test('walk: pages that were read before are read again 200 times in a row, and then end it', (t) => {
  let walk: Walk<WalkPage> = { ...beginWalk(RULES), furthest: 1_000_000 }
  let pages = 0
  for (let next: unknown = null; !(next instanceof SourceError) && pages < 1000; pages++) {
    const request = nextRequest(walk)
    const page = { offset: request.offset, received: MAX_PAGE_ITEMS, total: 1_000_000, isGateway: false }
    const repeated = { ...page, isJoint: true, isSorted: true, added: 0, counted: 0, hasMoved: false }
    ;({ walk, next } = step(walk, { request, page: repeated }))
  }
  t.is(pages, 201)
})

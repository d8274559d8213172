import { type BareItem, type Item, serializeList, Token } from 'structured-headers'
import type { CacheDecision } from '../domain/freshness.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Outcome } from '../gateway/outcome.ts'
import { joinWithin } from './list-header.ts'

/** `Cache-Status` (RFC 9211), one member a source. Beyond `max` characters, the rest share one. */
export const cacheStatus = (outcomes: readonly Outcome[], max: number): string =>
  joinWithin(
    max,
    outcomes.map((outcome) => serializeList([member(outcome)])),
    (left) => serializeList([[`and ${left} more`, new Map()]]),
  )

function member({ source, result }: Outcome): Item {
  const parameters =
    result instanceof SourceError
      ? failed(result)
      : result.cache === undefined
        ? direct(source.mode)
        : decided(result.cache)
  return [identifier(source.name), new Map(parameters)]
}

type Parameter = [name: string, value: BareItem]

/** Local and snapshot answers count as hits; a live source without a cache is always requested. */
const direct = (mode: Outcome['source']['mode']): Parameter[] =>
  mode === 'live' ? [['fwd', new Token('bypass')]] : [['hit', true]]

function decided({ outcome, ttlSeconds }: CacheDecision): Parameter[] {
  const ttl: Parameter = ['ttl', Math.trunc(ttlSeconds)]
  switch (outcome) {
    case 'hit':
      return [['hit', true], ttl]
    case 'revalidating':
      return [['hit', true], ttl, ['detail', new Token('revalidating')]]
    case 'stale':
      return [['fwd', new Token('stale')], ttl, ['detail', new Token('stale')]]
    case 'miss':
      return ttlSeconds > 0
        ? [['fwd', new Token('miss')], ['stored', true], ttl]
        : [['fwd', new Token('miss')]]
  }
}

function failed({ reason }: SourceError): Parameter[] {
  const status = /^http_(\d{3})$/.exec(reason)?.[1]
  return [
    ['fwd', new Token('miss')],
    ...(status === undefined ? [] : [['fwd-status', Number(status)] satisfies Parameter]),
    ['detail', new Token(reason)],
  ]
}

/** A token if possible (RFC 9651 section 3.3.4), else a string without invalid characters. */
const identifier = (name: string): BareItem =>
  /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(name) ? new Token(name) : name.replace(/[^\x20-\x7e]/g, '?')

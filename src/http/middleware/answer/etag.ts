import type { Middleware } from '../../request-state.ts'

/**
 * Answers 304 where `If-None-Match` names the answer. Koa's `fresh` would ignore it beside `Cache-Control: no-cache`, which
 * means the upstreams here.
 */
export function answerUnmodified(): Middleware {
  return ({ req, state }, next) => {
    const ifNoneMatch = req.headers['if-none-match']
    if (ifNoneMatch === undefined) return next()
    return next().then(() => {
      const { status = 200, headers = {} } = state.response
      const { ETag: etag } = headers
      if (status !== 200 || etag === undefined) return
      if (namesEtag(ifNoneMatch, etag)) state.response = { status: 304, headers }
    })
  }
}

/** By weak comparison (RFC 9110 section 13.1.2). */
const namesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))

const opaque = (etag: string): string => etag.trim().replace(/^W\//, '')

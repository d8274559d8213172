/** What each status of a problem means for the caller, and what to do. */
export const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'A parameter, filter or member is unknown or malformed. `detail` names it.',
  401: 'No API key, or one that is unknown, revoked or expired. Send `Authorization: Bearer KEY`.',
  403: 'The key’s scope does not allow it, or a limit of the publisher is reached (`quota_exceeded`).',
  404: 'It does not exist here.',
  406: '`Accept` names no type that the route can send.',
  409: 'The signature was used for another request. Sign again with a new timestamp.',
  412: 'The filter spec has changed. Read `GET /filter-spec`, and send its etag in `If-Match`.',
  413: 'The body is too large.',
  415: '`Content-Type` or `Content-Encoding` of the body is not supported. Send plain JSON.',
  422: 'Members or parameters have a wrong type or value. `errors` lists each with its path.',
  429: 'Too many requests. Wait as many seconds as `Retry-After` says.',
  502: 'No source gave a usable answer, or `require=all` and one of them did not. `sources` has the reasons.',
  503: 'Sources, keys or the store cannot be used at the moment. Try again after `Retry-After`, or in a moment.',
  504: 'No source answered within the time budget. Try again, or raise `timeout_ms`.',
  508: 'The query has passed this gateway before. Gateways that list each other need `kind = "gateway"` and ids of their own.',
}

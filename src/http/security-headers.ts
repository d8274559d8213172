import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet, { type HelmetOptions } from 'helmet'

export type FixedHeaders = readonly (readonly [name: string, value: string])[]

/** Helmet's headers, computed once rather than for every request. */
function headersOf(options: HelmetOptions): FixedHeaders {
  const set = new Map<string, string>()
  const recording: Pick<ServerResponse, 'setHeader' | 'removeHeader'> = {
    setHeader(name, value) {
      set.set(name, String(value))
      return recording as ServerResponse
    },
    removeHeader: (name) => void set.delete(name),
  }
  helmet(options)({} as IncomingMessage, recording as ServerResponse, (cause) => {
    if (cause !== undefined) throw cause
  })
  return [...set]
}

/** Headers that matter only for pages, or only in browsers that are no longer in use. */
const LEFT_OUT = {
  // TLS ends in front of this process (RFC 6797 section 7.2): docs/security.md.
  strictTransportSecurity: false,
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xPoweredBy: false,
  xXssProtection: false,
} as const satisfies HelmetOptions

/** No answer may load, run, submit or be framed; our pages list what they need instead. */
const NOTHING = {
  defaultSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
}

/** `cross-origin`, because any origin may read the market. */
export const EVERY_ANSWER: FixedHeaders = headersOf({
  ...LEFT_OUT,
  contentSecurityPolicy: { useDefaults: false, directives: NOTHING },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
})

/** Isolates pages from other origins' windows, and prevents DNS lookups of sellers' hosts. */
export const EVERY_PAGE: FixedHeaders = headersOf({
  ...LEFT_OUT,
  contentSecurityPolicy: false,
  crossOriginResourcePolicy: false,
  referrerPolicy: false,
  xContentTypeOptions: false,
  crossOriginOpenerPolicy: { policy: 'same-origin' },
  originAgentCluster: true,
  xDnsPrefetchControl: { allow: false },
  xFrameOptions: { action: 'deny' },
})

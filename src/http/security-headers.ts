import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet, { type HelmetOptions } from 'helmet'

export type FixedHeaders = readonly (readonly [name: string, value: string])[]

/**
 * What helmet sets, computed once: as data that is copied into every answer, it costs a request nothing to work out.
 * @param options which of helmet's headers, and how
 */
const headersOf = (options: HelmetOptions): FixedHeaders => {
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

/** Headers of helmet that say something about pages alone, or to no browser that is still in use. */
const LEFT_OUT = {
  // A promise about TLS, which ends in front of this process (RFC 6797 section 7.2): docs/security.md.
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

/** Nothing in an answer may load, run, submit or be framed; a page of ours names what it needs instead. */
const NOTHING = {
  defaultSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
}

/** Headers of every answer. Any origin may read the market, hence `cross-origin`. */
export const EVERY_ANSWER: FixedHeaders = headersOf({
  ...LEFT_OUT,
  contentSecurityPolicy: { useDefaults: false, directives: NOTHING },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
})

/** What a page carries besides: it shares no process with other origins' windows, and looks up no seller's host. */
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

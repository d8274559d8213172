import { createRequire } from 'node:module'

/**
 * What the service uses of Node's own `http`, and the router, which imports it. An `import` reads every export of a
 * module, and one of these loads the client behind `fetch`, which takes longer than the rest of Node's start.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export const Router: typeof import('@koa/router').default = createRequire(import.meta.url)('@koa/router')

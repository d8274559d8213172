import { execFile } from 'node:child_process'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, loadConfig } from './config/config.ts'
import { environment, serviceUrl } from './config/settings.ts'
import { describeRanking } from './config/warnings.ts'
import { type Context, createContext } from './context/context.ts'
import { redactCredentials } from './domain/safe-text.ts'
import { ConfigError, type Violation } from './errors.ts'
import { Connections, MAX_HEADER_BYTES } from './http/connections.ts'
import { createServer } from './http/node-http.ts'
import { createLogger, type Logger } from './log.ts'
import { stopSignal } from './stop-signal.ts'

/** Idle time of kept-alive connections during a drain, in ms: longer than a client pauses. */
const IDLE_MS = 1000
/** How long a service that does not listen yet may take to close its store. */
const MAX_ENDING_MS = 900

/** Runs until SIGINT or SIGTERM; SIGHUP reloads. Resolves with the exit code. @throws ConfigError, EntrepotError */
export async function serve(): Promise<number> {
  const started = Promise.withResolvers<Context>()
  // Handled from the start: without a listener, SIGHUP would end the process.
  process.on('SIGHUP', () => void started.promise.then((context) => context.reloadBySignal()))
  const config = loadConfig()
  const log = createLogger(config.logLevel)
  // The client of Redis prints what its user has no right to.
  console.warn = console.error = (text) => log.warn({ detail: String(text) }, 'printed by a library')
  const opening = createContext(config)
  const context = await Promise.race([opening, stopSignal().then(() => null)])
  if (context === null) return endEarly(opening)
  const service = await startService(context)
  context.log.info({ url: service.url, ...summaryOf(context.config) }, 'listening')
  notifySystemd('READY=1', context.log)
  started.resolve(context)
  const signal = await stopSignal()
  context.log.info({ signal }, 'draining')
  notifySystemd('STOPPING=1', context.log)
  const began = performance.now()
  const cut = await service.close(IDLE_MS)
  context.log.info({ ms: Math.round(performance.now() - began), cut_connections: cut }, 'stopped')
  return 0
}

/** of a service that gets a signal before it listens. Never waits long for a store or an upstream. */
async function endEarly(opening: Promise<Context>): Promise<never> {
  const closed = opening.then((context) => context.close()).catch(() => {})
  await Promise.race([closed, sleep(MAX_ENDING_MS)])
  process.exit(0)
}

/** What an operator has to know of a process: its gates, files and store. */
function summaryOf(config: Config): Record<string, unknown> {
  const { requireReadKey, requireWriteKey, adminKey, storeUrl, configPath, filterSpecPath, upstreams } =
    config
  return {
    reads: requireReadKey ? 'with a key' : 'open',
    writes: !config.registry.enabled ? 'off' : requireWriteKey ? 'with a key' : 'open',
    admin: adminKey === null ? 'off' : 'with the admin key',
    store: redactCredentials(storeUrl),
    gateway_file: configPath,
    filter_spec: filterSpecPath,
    upstreams: upstreams.length,
    ...(upstreams.length > 0 && { ranking: describeRanking(config) }),
  }
}

/** For a unit of `Type=notify`. By systemd's own program, since Node has no datagram sockets of the Unix domain. */
function notifySystemd(state: 'READY=1' | 'STOPPING=1', log: Logger): void {
  if (!environment.NOTIFY_SOCKET) return
  execFile('systemd-notify', [state], (error) => {
    if (error !== null) log.warn({ reason: error.message }, 'systemd was not notified')
  })
}

export type Service = {
  /** `http://host:port`, with the actual port where `PORT` is 0. */
  url: string
  /** `idleMs` (default 0): how long kept-alive connections stay open for a last request. Gives how many were cut. */
  close: (idleMs?: number) => Promise<number>
}

const DRAIN_MS = 10_000
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
/** How often the two are checked. Node's 30 s would treble them. */
const CHECK_INTERVAL_MS = 1000
/** Longer than proxies and clients keep idle connections, so that they close them and not the server. */
const KEEP_ALIVE_MS = 65_000

type Timeouts = {
  /** How long a reader may take nothing of a response; default: 30 s. */
  stalledMs?: number | undefined
  /** How long the headers of a request may take; default: 10 s. */
  headersMs?: number | undefined
}

/** @throws ConfigError when the address cannot be listened on */
export async function startService(
  context: Context,
  { stalledMs, headersMs = HEADERS_TIMEOUT_MS }: Timeouts = {},
): Promise<Service> {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  const connections = new Connections()
  connections.watch(server, context.listener, {
    stalledMs,
    onRefused: (error) => context.onAnswered({ status: error.status }, error),
  })
  const { host, port } = context.config
  try {
    await listen(server, host, port)
  } catch (cause) {
    await context.close()
    throw new ConfigError([cannotListen(cause, host, port)])
  }
  const address = server.address() as AddressInfo
  return {
    url: serviceUrl(host, address.port),
    close: async (idleMs = 0) => {
      context.stopReloading()
      const cut = await connections.drain(server, { idleMs, maxMs: DRAIN_MS })
      await context.close()
      return cut
    },
  }
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })

function cannotListen(cause: unknown, host: string, port: number): Violation {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return {
      path: 'PORT',
      message: `port ${port} on ${host} is in use; set PORT to another one, or stop the process that uses it`,
    }
  const isAboutHost = ['ENOTFOUND', 'EADDRNOTAVAIL', 'EAI_AGAIN', 'EINVAL'].includes(code ?? '')
  return {
    path: isAboutHost ? 'HOST' : 'PORT',
    message: `cannot listen on ${host}:${port}: ${isAboutHost ? 'the host is no address of this machine' : message}`,
  }
}

import type { RequestListener } from 'node:http'
import type { Config } from './config.ts'
import { openConfiguration } from './context/configuration.ts'
import { type Overrides, openFoundation } from './context/foundation.ts'
import { Reloading } from './context/reloading.ts'
import type { Route } from './http/route.ts'
import type { Logger } from './log.ts'
import { ApiKeys } from './registry/api-keys.ts'

/** A service that is loaded but does not listen yet. */
export type Context = {
  readonly config: Config
  readonly routes: readonly Route[]
  log: Logger
  listener: RequestListener
  /** Never rejects: a failed reload is logged and changes nothing. Calls during one share the next. */
  reload: (load: () => Config) => Promise<void>
  close: () => Promise<void>
}

/**
 * Opens the process's parts (`context/foundation.ts`), then the configuration's (`context/configuration.ts`).
 * @throws ConfigError when the filter spec or the store cannot be used
 */
export async function createContext(config: Config, overrides: Overrides = {}): Promise<Context> {
  let reloading: Reloading | null = null
  const foundation = await openFoundation(config, overrides, () => reloading?.current.sources ?? [])
  try {
    const first = await openConfiguration(config, foundation)
    const running = new Reloading(first, foundation)
    reloading = running
    if (config.bootstrapKey !== null)
      await new ApiKeys(foundation.store, first.replica).seed(config.bootstrapKey)
    const answer: RequestListener = (request, response) => running.current.listener(request, response)
    return {
      get config() {
        return running.current.config
      },
      get routes() {
        return running.current.routes
      },
      log: foundation.log,
      listener: foundation.traced?.listener(answer) ?? answer,
      reload: (load) => running.reload(load),
      close: async () => {
        await running.close()
        await foundation.close()
      },
    }
  } catch (cause) {
    await reloading?.close()
    await foundation.close()
    throw cause
  }
}

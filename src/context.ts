import type { RequestListener } from 'node:http'
import type { Config } from './config.ts'
import { openConfiguration } from './context/configuration.ts'
import { type Overrides, openFoundation } from './context/foundation.ts'
import { Reloading } from './context/reloading.ts'
import type { Route } from './http/route.ts'
import type { Logger } from './log.ts'
import { ApiKeys } from './registry/api-keys.ts'

/** A service put together and loaded, not yet listening. */
export type Context = {
  /** As it is now: a reload replaces it. */
  readonly config: Config
  readonly routes: readonly Route[]
  log: Logger
  /** Answers HTTP requests. */
  listener: RequestListener
  /**
   * Goes over to another configuration without losing a request; to the one that is running where that cannot be used,
   * which the log tells. Resolves when it is done, never rejects; calls that come meanwhile are one more reload.
   */
  reload: (load: () => Config) => Promise<void>
  /** Lets go of everything, in reverse order of construction. */
  close: () => Promise<void>
}

/**
 * The composition root: the only place where adapters are made and joined. What lives as long as the process is made
 * in `context/foundation.ts`, what one configuration makes in `context/configuration.ts`.
 * @throws ConfigError when the filter spec or the store cannot be used
 */
export const createContext = async (config: Config, overrides: Overrides = {}): Promise<Context> => {
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

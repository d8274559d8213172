import { isJsonObject, type JsonValue } from '../domain/json.ts'
import type { Item } from '../domain/page.ts'
import { asAddress } from './publishers.ts'

/** As many gateways as a question may pass (`contract.md` 3.1, Loop). */
const REGISTRY_NAME = /^[a-z0-9-]{1,64}(?:\/[a-z0-9-]{1,64}){0,3}$/
const MAX_COPIES = 100

/** What an item's `_meta` says of it, if it comes from a gateway that is believed (`contract.md` 2, `kind`). */
export const readOrigin = (meta: JsonValue | undefined): Pick<Item, 'publisher' | 'origin'> => {
  if (!isJsonObject(meta) || !isRegistryName(meta.registry)) return { publisher: null }
  const { registry, publisher, also_in: alsoIn, stale, differs } = meta
  return {
    publisher: typeof publisher === 'string' ? asAddress(publisher) : null,
    origin: {
      registry,
      alsoIn: Array.isArray(alsoIn) ? alsoIn.slice(0, MAX_COPIES).filter(isRegistryName) : [],
      stale: stale === true,
      differs: differs === true,
    },
  }
}

export const isRegistryName = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && REGISTRY_NAME.test(value)

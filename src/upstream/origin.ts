import { isJsonObject, type JsonValue } from '../domain/json.ts'
import type { Item } from '../domain/page.ts'
import { isRegistryName } from '../domain/registry-name.ts'
import { asAddress } from './publishers.ts'

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

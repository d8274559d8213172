import { startEntrepot } from './children.ts'
import { fillStore } from './fill-store.ts'
import { benchStores } from './stores.ts'
import type { Bench } from './table.ts'

const LISTINGS = 1_000_000
const BUDGET: Readonly<Record<string, string>> = { SQLite: '100,000', Redis: '60,000' }

export const load: Bench = {
  name: 'load',
  what: `start of a Registry with ${LISTINGS.toLocaleString('en')} listings, from process start to first answer`,
  run: async () => {
    const rows = []
    for (const store of await benchStores()) {
      await fillStore(store.url, LISTINGS)
      const started = performance.now()
      const entrepot = await startEntrepot({ STORE_URL: store.url, ENTREPOT_CONFIG: store.config })
      const ready = await fetch(`${entrepot.url}/listings?limit=1`)
      const seconds = (performance.now() - started) / 1000
      const { total_after_filter: open } = (await ready.json()) as { total_after_filter: number }
      rows.push({
        store: store.name,
        'open listings': open,
        seconds,
        'listings/s': LISTINGS / seconds,
        budget: BUDGET[store.name] ?? '',
      })
      await entrepot.close()
      await store.close()
    }
    return rows
  },
}

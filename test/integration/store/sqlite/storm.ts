import { writeSync } from 'node:fs'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { freshUse, published, publishOf } from '../../../helpers/store/subject.ts'

/**
 * A process that publishes without end and writes the id of each acknowledged listing as a line to stdout.
 * Arguments: the file, and a prefix for the ids. It stops when killed.
 */
const [path = '', prefix = ''] = process.argv.slice(2)
const WRITERS = 8
const store = openSqliteStore(path)

async function publishForever(writer: number): Promise<never> {
  for (let n = 0; ; n++) {
    const use = freshUse({ signature: `${prefix}-${writer}-${n}` })
    const { listingId } = await published(store, publishOf(`${prefix}-${writer}-${n}`, { use }))
    writeSync(1, `${listingId}\n`)
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => publishForever(writer)))

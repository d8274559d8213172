import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readSnapshot, renderSnapshot, type SnapshotStorage } from '../../domain/source/saved-snapshot.ts'

/** Only its owner can read it: it may hold listings of a private upstream. */
export function snapshotFile(path: string, identity: string): SnapshotStorage {
  return {
    load: async () => {
      try {
        return readSnapshot(await readFile(path), identity)
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw cause
      }
    },
    save: async (snapshot) => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      // Another process may save at the same time.
      const draft = `${path}.${randomBytes(6).toString('hex')}`
      try {
        await writeFile(draft, renderSnapshot(snapshot, identity), { mode: 0o600 })
        await rename(draft, path)
      } catch (cause) {
        await rm(draft, { force: true })
        throw cause
      }
    },
  }
}

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readSnapshot, renderSnapshot, type SnapshotKeeping } from '../domain/saved-snapshot.ts'

/** A snapshot of `url`'s upstream in a file, for its owner's eyes only: it may hold listings of a private one. */
export const snapshotFile = (path: string, url: string): SnapshotKeeping => ({
  load: async () => {
    const bytes = await readIfThere(path)
    return bytes === null ? null : readSnapshot(bytes, url)
  },
  save: async (snapshot) => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const draft = `${path}.new`
    await writeFile(draft, renderSnapshot(snapshot, url), { mode: 0o600 })
    await rename(draft, path)
  },
})

const readIfThere = async (path: string): Promise<Buffer | null> => {
  try {
    return await readFile(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'

export const MAKE_SECRETS = 'deploy/make-secrets.sh'

/** A folder with the secrets of `deploy/make-secrets.sh`, removed when the test ends. */
export function makeSecrets(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-secrets-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  execFileSync('sh', [MAKE_SECRETS, folder])
  return folder
}

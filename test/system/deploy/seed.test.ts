import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { startRegistry } from '../../helpers/registry.ts'
import { runNode } from '../../helpers/run-cli.ts'
import { readComposeFile } from './compose-file.ts'
import { makeSecrets } from './secrets.ts'

test('seed: fills the three Registries once', async (t) => {
  const secrets = makeSecrets(t)
  const curatedKey = readFileSync(join(secrets, 'curated_key'), 'utf8').trim()
  const toml = readFileSync('deploy/config/registry.toml', 'utf8')
  const curated = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: curatedKey }
  const urls = new Map([
    ['http://open-market:8080', (await startRegistry(t, { toml })).url],
    ['http://curated:8080', (await startRegistry(t, { toml, environment: curated })).url],
    ['http://co-located:8080', (await startRegistry(t, { toml })).url],
  ])
  const env = Object.fromEntries(
    Object.entries(readComposeFile().services.seed!.environment!).map(([name, value]) => [
      name,
      urls.get(value) ?? value.replace('/run/secrets', secrets),
    ]),
  )
  const seed = async (): Promise<string> => (await runNode(['demo/seed.ts'], { env })).stderr
  t.is(await seed(), 'seed: published 317 listings\n')
  t.is(await seed(), 'seed: the Registries have listings already: 173, 103, 41\n')
})

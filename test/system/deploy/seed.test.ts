import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import test from 'ava'
import { startRegistry } from '../../helpers/registry.ts'
import { readComposeFile } from './compose-file.ts'
import { readStages, wordsOf } from './dockerfile.ts'
import { makeSecrets } from './secrets.ts'

const run = promisify(execFile)
const { environment = {} } = readComposeFile().services.seed!
const [program, ...words] = wordsOf(readStages().get('seed')!, 'ENTRYPOINT')

test('seed: fills the three Registries once', async (t) => {
  t.is(program, 'node')
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
    Object.entries(environment).map(([name, value]) => [
      name,
      urls.get(value) ?? value.replace('/run/secrets', secrets),
    ]),
  )
  const seed = async (): Promise<string> => (await run(process.execPath, words, { env })).stderr
  t.is(await seed(), 'seed: published 317 listings\n')
  t.is(await seed(), 'seed: the Registries have listings already: 173, 103, 41\n')
})

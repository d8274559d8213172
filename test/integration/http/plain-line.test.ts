import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import {
  askPlainly,
  type PlainAnswer,
  type PlainQuestion,
  writeStore,
} from '../../helpers/plain-questions.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { authorityEnvironment, readSigned } from '../../helpers/signed-reader.ts'

/** What the code answered before there were signed clients. */
const RECORDED: { question: PlainQuestion; answer: PlainAnswer }[] = JSON.parse(
  readFileSync(new URL('../../fixtures/plain-line.json', import.meta.url), 'utf8'),
)

for (const isSigned of [false, true])
  test(`plain line: every byte is as before, ${isSigned ? 'also beside' : 'without'} the signed line`, async (t) => {
    const path = join(temporaryFolder(t), 'store.db')
    await writeStore(path)
    const gates = { REGISTRY_REQUIRE_READ_API_KEY: 'false', REGISTRY_REQUIRE_WRITE_API_KEY: 'false' }
    const environment = {
      STORE_URL: `sqlite:${path}`,
      ...gates,
      ...(isSigned && authorityEnvironment(t)),
    }
    const { url } = await startRegistry(t, { environment })
    if (isSigned) t.is((await readSigned(url, '/listings')).status, 200)
    for (const { question, answer } of RECORDED)
      t.deepEqual(await askPlainly(url, question), answer, JSON.stringify(question))
  })

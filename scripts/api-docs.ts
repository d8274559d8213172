import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/context.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { renderMarkdown } from '../src/http/docs/markdown.ts'
import { openApiDocument } from '../src/http/docs/openapi.ts'

/** `npm run docs` writes `docs/api.md` from the route table of a gateway with a Registry and an upstream. */

export const API_DOCS = 'docs/api.md'

/** The text of `docs/api.md`. */
export async function renderApiDocs(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-docs-'))
  const file = join(folder, 'gateway.toml')
  writeFileSync(file, '[[upstreams]]\nname = "open-market"\nurl = "https://registry.example"\n')
  const config = loadConfig({ STORE_URL: 'sqlite::memory:', LOG_LEVEL: 'silent', ENTREPOT_CONFIG: file })
  const context = await createContext(config)
  const { routes } = context
  await context.close()
  rmSync(folder, { recursive: true })
  return renderMarkdown(openApiDocument(routes, readFilterSpec(config.filterSpecPath).listingShape))
}

export const readApiDocs = (): string => readFileSync(API_DOCS, 'utf8')

if (import.meta.main) writeFileSync(API_DOCS, await renderApiDocs())

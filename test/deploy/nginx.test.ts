import { readFileSync } from 'node:fs'
import test from 'ava'
import { MAX_BODY_BYTES } from '../../src/http/middleware/body.ts'
import { readComposeFile } from './compose-file.ts'
import { complaints, NGINX_FILE, nginxConf } from './nginx.ts'

const text = readFileSync(NGINX_FILE, 'utf8')
const { proxy, ...others } = readComposeFile().services

test('nginx: accepts the file unchanged', async (t) => {
  t.is(await complaints(text), '')
})

test('nginx: its check finds errors', async (t) => {
  t.regex(await complaints(text.replace('proxy_buffering off', 'proxy_bufering off')), /unknown directive/)
  t.regex(await complaints(text.replace('http://gateways;', 'http://gatways;')), /host not found/)
})

test('nginx: its addresses are those of Compose, each named once', (t) => {
  t.notThrows(() => nginxConf(['http://127.0.0.1:1', 'http://127.0.0.1:2'], 3))
  const gateways = Object.keys(others).filter((name) => name.startsWith('gateway-'))
  t.is([...text.matchAll(/^ +server [\d.]+:8080 /gm)].length, gateways.length)
})

test('nginx: passes every body that the gateways accept', (t) => {
  const [, kilobytes] = /client_max_body_size (\d+)k;/.exec(text) ?? []
  t.true(Number(kilobytes) * 1024 > MAX_BODY_BYTES)
})

test('nginx: writes to /tmp only', (t) => {
  const paths = [...text.matchAll(/^ *(?:pid|\w+_temp_path) (\S+);/gm)].map(([, path]) => path!)
  t.is(paths.length, 6)
  for (const path of paths) t.regex(path, /^\/tmp\//)
  t.regex(text, /^error_log stderr /m)
  t.deepEqual(proxy?.command?.slice(0, 2), ['-e', 'stderr'])
})

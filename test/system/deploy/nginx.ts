import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../helpers/eventually.ts'
import type { Certificate } from '../../helpers/fake-registry.ts'
import { freePort, freePorts } from '../../helpers/free-port.ts'
import { programPath } from '../../helpers/programs.ts'
import { addressOf, readComposeFile } from './compose-file.ts'

const NGINX_FILE = 'deploy/nginx.conf'

/** nginx with the lines of `deploy/`, on a free port of the loopback. */
export type Nginx = {
  url: string
  /** Its stderr so far. */
  output: () => string
  close: () => Promise<void>
}

/** `deploy/nginx.conf` with other addresses instead of Compose's, each of which occurs once. */
function nginxConf(gateways: readonly string[], port: number): string {
  const file = readComposeFile()
  const places: readonly [ours: string, here: string][] = [
    ...gateways.map((url, n): [string, string] => [
      `server ${addressOf(file, `gateway-${n + 1}`, 'front')}:8080 `,
      `server ${new URL(url).host} `,
    ]),
    ['listen 8080;', `listen 127.0.0.1:${port};`],
    [`set_real_ip_from ${file.networks.front!.ipam!.config[0]!.gateway};`, 'set_real_ip_from 127.0.0.1;'],
  ]
  return replaceOnce(readFileSync(NGINX_FILE, 'utf8'), places, NGINX_FILE)
}

/** `deploy/tls/nginx-site.conf` in front of a gateway, with ports and a certificate of this machine. */
export async function startTlsSite(gateway: string, certificate: Certificate) {
  const [port, plainPort] = await freePorts(2)
  const places: readonly [ours: string, here: string][] = [
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['  listen [::]:80;\n', ''],
    ['  listen [::]:443 ssl http2;\n', ''],
    ['/etc/letsencrypt/live/market.example/fullchain.pem', 'cert'],
    ['/etc/letsencrypt/live/market.example/privkey.pem', 'key'],
    ['    proxy_pass http://127.0.0.1:8080;\n  }\n\n', `    proxy_pass ${gateway};\n  }\n\n`],
  ]
  const site = replaceOnce(readFileSync(TLS_SITE, 'utf8'), places, TLS_SITE)
  const temporary = TEMPORARY.map((name) => `${name}_temp_path /tmp/${name};`).join('\n')
  const text = `pid /tmp/nginx.pid;\nerror_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${site}}\n`
  const nginx = await startNginx(text, `https://127.0.0.1:${port}`, certificate)
  return { ...nginx, plainUrl: `http://127.0.0.1:${plainPort}` }
}

const TLS_SITE = 'deploy/tls/nginx-site.conf'
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

function replaceOnce(text: string, places: readonly (readonly [string, string])[], file: string): string {
  return places.reduce((rest, [ours, here]) => {
    if (rest.split(ours).length !== 2) throw new Error(`${file} has to have '${ours}' once`)
    return rest.replace(ours, here)
  }, text)
}

/** @param gateways URLs, in the order of Compose's names */
export async function startProxy(gateways: readonly string[]): Promise<Nginx> {
  const port = await freePort()
  return startNginx(nginxConf(gateways, port), `http://127.0.0.1:${port}`)
}

/** @param files by their names, beside the configuration */
async function startNginx(
  text: string,
  url: string,
  files: Readonly<Record<string, Buffer>> = {},
): Promise<Nginx> {
  const program = programPath('nginx')
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-nginx-'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const child = spawn(program, [...argumentsFor(folder, text), '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  running.add(child)
  const gone = once(child, 'exit').then(() => {
    running.delete(child)
    rmSync(folder, { recursive: true })
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  await eventually('answered', () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${output}`)
    return fetch(`${url}/health`).catch(() => null)
  })
  return {
    url,
    output: () => output,
    close: async () => {
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** Stops the proxy when a test run ends before its teardown. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGTERM')
})

/** The files of the container's `/tmp` are in a folder of the test. */
function argumentsFor(folder: string, text: string): string[] {
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, text.replaceAll(' /tmp/', ` ${folder}/`))
  return ['-p', folder, '-e', 'stderr', '-c', file]
}

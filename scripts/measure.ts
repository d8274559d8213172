import { globSync, readFileSync } from 'node:fs'

type Count = { files: number; lines: number; comments: number }

const COMMENT = /^\s*(\/\/|\/\*|\*)/

function count(files: readonly string[]): Count {
  const lines = files.flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n'))
  return {
    files: files.length,
    lines: lines.length,
    comments: lines.filter((line) => COMMENT.test(line)).length,
  }
}

function row(name: string, { files, lines, comments }: Count): string {
  const share = `${((100 * comments) / lines).toFixed(1)} %`
  return `${name.padEnd(22)}${String(files).padStart(6)}${String(lines).padStart(8)}${share.padStart(9)}\n`
}

/** Files, lines and the share of comment lines of each room of `src/`, and of each tree. Stylesheets and Lua count. */
const ROOTS = ['src', 'test', 'bench', 'demo', 'scripts', 'examples']
const all = ROOTS.flatMap((root) => globSync(`${root}/**/*.{ts,css,lua,html}`)).map((file) =>
  file.replaceAll('\\', '/'),
)
const rooms = new Set(all.map((file) => file.match(/^src\/[^/]+\//)?.[0] ?? `${file.split('/')[0]}/`))
process.stdout.write(
  `${''.padEnd(22)}${'files'.padStart(6)}${'lines'.padStart(8)}${'comments'.padStart(9)}\n`,
)
for (const room of [...rooms].sort())
  process.stdout.write(
    row(
      room === 'src/' ? 'src/*' : room,
      count(all.filter((file) => (room === 'src/' ? /^src\/[^/]+$/.test(file) : file.startsWith(room)))),
    ),
  )
process.stdout.write(row('all of src', count(all.filter((file) => file.startsWith('src/')))))

import type { ScalarTag } from 'yaml'
import { Float } from './canonical-json.ts'

/**
 * As the deployed protocol resolves them, on which etags depend: `yes` is true, `y` a string, `010` 8,
 * `1_000` 1000, `1:30` 90, `1e3` a string, `1.0e+3` a float. Dates, `.inf` and `.nan` are errors.
 */
export const YAML_1_1_SCALARS: ScalarTag[] = [
  {
    tag: 'tag:yaml.org,2002:null',
    default: true,
    test: /^(?:~|null|Null|NULL|)$/,
    resolve: () => null,
  },
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
    resolve: (text) => /^(?:yes|true|on)$/i.test(text),
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^(?:[-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?|[-+]?\d[\d_]*(?::[0-5]?\d)+\.[\d_]*)$/,
    resolve: (text, onError) => finiteFloat(text, onError),
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    resolve: (text, onError) => refuse(text, onError, 'is no number of JSON'),
  },
  {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test: /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][\d_]*|0x[\da-fA-F_]+|[1-9][\d_]*(?::[0-5]?\d)+)$/,
    resolve: (text) => integer(text),
  },
  {
    tag: 'tag:yaml.org,2002:timestamp',
    default: true,
    test: /^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$/,
    resolve: (text, onError) => refuse(text, onError, 'is a date unless it is quoted'),
  },
]

type OnError = (message: string) => void

function refuse(text: string, onError: OnError, why: string): string {
  onError(`'${text}' ${why}`)
  return text
}

function finiteFloat(text: string, onError: OnError): Float | string {
  const value = parts(text).reduce((sum, part) => sum * 60 + Number(part), 0)
  if (!Number.isFinite(value)) return refuse(text, onError, 'is no number of JSON')
  return new Float(text.startsWith('-') ? -value : value)
}

function integer(text: string): number | bigint {
  const size = parts(text).reduce((sum, part) => sum * 60n + BigInt(octalPrefixed(part)), 0n)
  const value = text.startsWith('-') ? -size : size
  const double = Number(value)
  return Number.isSafeInteger(double) ? double : value
}

const parts = (text: string): string[] => text.replace(/^[-+]|_/g, '').split(':')

const octalPrefixed = (digits: string): string => digits.replace(/^0(?=\d)/, '0o')

import { Link, type LinkProps } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { Problem } from '../api/answer.ts';
import { number } from './format.ts';

interface ScreenProps {
  title: ReactNode;
  /** The title of the browser's tab, if `title` is more than text. */
  name?: string;
  /** The parent screen. */
  parent?: { to: NonNullable<LinkProps['to']>; text: string };
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A screen: its place, title, description and actions. */
export function Screen({
  title,
  name = typeof title === 'string' ? title : '',
  parent,
  about,
  actions,
  children,
}: ScreenProps) {
  useEffect(() => {
    document.title = name === '' ? 'Laurel' : `${name} · Laurel`;
  }, [name]);
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-4 px-4 py-4 md:px-6 md:py-5">
      <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          {parent !== undefined && (
            <nav aria-label="Breadcrumb">
              <ol className="flex min-w-0 items-center gap-1.5 text-muted">
                <li>
                  <Link to={parent.to} activeOptions={{ exact: true }} className="text-accent hover:underline">
                    {parent.text}
                  </Link>
                </li>
                <li aria-hidden>/</li>
                <li aria-current="page" className="min-w-0 truncate">
                  {name}
                </li>
              </ol>
            </nav>
          )}
          <h1 className="text-lg leading-7 font-semibold break-words">{title}</h1>
          {about !== undefined && <p className="max-w-prose text-pretty text-muted">{about}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface PanelProps {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}

/** A part of a screen with a heading. */
export function Panel({ title, actions, children, className = '' }: PanelProps) {
  return (
    <section className={`min-w-0 rounded-lg border border-line bg-surface ${className}`}>
      <header className="flex min-h-10 items-center justify-between gap-2 border-b border-line px-3 py-1">
        <h2 className="text-sm font-semibold">{title}</h2>
        {actions !== undefined && <div className="flex items-center gap-1">{actions}</div>}
      </header>
      <div className="p-3">{children}</div>
    </section>
  );
}

const TONES = {
  plain: 'border-line text-muted',
  good: 'border-transparent bg-accent-soft text-accent-strong',
  warn: 'border-transparent bg-warn-soft text-warn',
  bad: 'border-transparent bg-danger-soft text-danger',
} as const;

export function Tag({ tone = 'plain', children }: { tone?: keyof typeof TONES; children: ReactNode }) {
  return (
    <span
      className={`inline-block rounded border px-1.5 text-xs leading-5 font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {children}
    </span>
  );
}

const GOOD = new Set(['active', 'enabled', 'full', 'stored']);
const WARN = new Set(['scheduled', 'locked', 'waiting', 'running']);

/** A status. */
export const Status = ({ of }: { of: string }) => (
  <Tag tone={GOOD.has(of) ? 'good' : WARN.has(of) ? 'warn' : 'plain'}>{of}</Tag>
);

/** A key or ID to copy. */
export const Code = ({ children }: { children: ReactNode }) => (
  <code className="font-mono text-xs break-all">{children}</code>
);

/** An error, with the API's message. */
export function Failed({ error, retry }: { error: Error; retry?: () => void }) {
  const status = error instanceof Problem && error.status > 0 ? `${error.status}: ` : '';
  return (
    <div role="alert" className="rounded-md bg-danger-soft px-3 py-2 text-danger">
      {status}
      {error.message}{' '}
      {retry !== undefined && (
        <button type="button" className="underline" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Stands where something will be when it is loaded. `of`: its shape. */
export const Waiting = ({ of = 'rows' }: { of?: keyof typeof SHAPES }) => (
  <div role="status" className="flex flex-col gap-4">
    <span className="sr-only">Loading …</span>
    {SHAPES[of]}
  </div>
);

const BLOCK = 'skeleton rounded-lg border border-line bg-surface';
const LINE_WIDTHS = ['w-1/3', 'w-1/2', 'w-2/5', 'w-1/2', 'w-1/4', 'w-2/5'];

/** Rows of a list; figures and charts; fields of a form. */
const SHAPES = {
  rows: (
    <div className={`${BLOCK} overflow-hidden`} aria-hidden>
      {LINE_WIDTHS.map((width, row) => (
        // oxlint-disable-next-line react/no-array-index-key -- the list never changes
        <div key={row} className="flex h-9 items-center border-b border-line px-3 last:border-b-0">
          <span className={`h-2.5 rounded bg-line ${width}`} />
        </div>
      ))}
    </div>
  ),
  charts: (
    <>
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4" aria-hidden>
        {LINE_WIDTHS.slice(2).map((width, figure) => (
          // oxlint-disable-next-line react/no-array-index-key -- the list never changes
          <div key={figure} className={`${BLOCK} h-16 p-3`}>
            <span className={`block h-2.5 rounded bg-line ${width}`} />
          </div>
        ))}
      </div>
      <div className={`${BLOCK} h-52`} aria-hidden />
    </>
  ),
  fields: (
    <div className={`${BLOCK} flex max-w-3xl flex-col gap-4 p-3`} aria-hidden>
      {LINE_WIDTHS.slice(3).map((width, field) => (
        // oxlint-disable-next-line react/no-array-index-key -- the list never changes
        <div key={field} className="flex flex-col gap-2">
          <span className={`h-2.5 rounded bg-line ${width}`} />
          <span className="h-9 rounded-md bg-hover" />
        </div>
      ))}
    </div>
  ),
} as const;

/** Replaces an empty list: explains the next step, with a command. */
export function Empty({ title, children, curl }: { title: string; children?: ReactNode; curl?: string }) {
  return (
    <div className="flex flex-col items-start gap-2 rounded-lg border border-dashed border-line bg-surface px-4 py-5">
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="w-full max-w-prose text-muted">{children}</div>}
      {curl !== undefined && <Shell>{curl}</Shell>}
    </div>
  );
}

/** A command to paste; on a phone it wraps. */
export const Shell = ({ children }: { children: string }) => (
  <pre
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
    tabIndex={0}
    className="w-full max-w-full overflow-x-auto rounded-md bg-hover px-3 py-2 font-mono text-xs leading-5 max-md:break-words max-md:whitespace-pre-wrap"
  >
    {children}
  </pre>
);

/** Pairs of a name and a value. */
export function Facts({ of }: { of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1.5">
      {of.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ProgressProps {
  label: string;
  of: { done: number; total: number | null };
  isOpen?: boolean;
}

/** How far long work is: a bar while it is open, and the numbers. */
export function Progress({ label, of: { done, total }, isOpen = true }: ProgressProps) {
  return (
    <span className="flex items-center gap-2">
      {isOpen && (
        <progress
          aria-label={label}
          className="h-2 w-24 accent-accent"
          max={Math.max(1, total ?? 1, done)}
          {...(total !== null && { value: done })}
        />
      )}
      <span className="text-muted">
        {number(done)}
        {total !== null && ` of ${number(total)}`}
      </span>
    </span>
  );
}

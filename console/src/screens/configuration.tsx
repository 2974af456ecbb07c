import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- the names of changes, as the command line has them
import { changedText, valueText } from '../../../src/domain/words.ts';
import { answer, Problem } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import type { paths } from '../../generated/admin.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { Ago } from '../ui/ago.tsx';
import { counted } from '../ui/format.ts';
import { Code, Empty, Failed, Panel, Screen, Tag, Waiting } from '../ui/parts.tsx';

type Document = AdminRead<'/v1/configuration'>;
type Version = AdminRead<'/v1/configuration/versions'>[number];
type Difference = paths['/v1/configuration/diff']['post']['responses'][200]['content']['application/json'];

const TONES = { create: 'good', update: 'warn', delete: 'bad' } as const;

function parsed(text: string): Document {
  try {
    return JSON.parse(text) as Document;
  } catch (error) {
    throw new Problem(0, `The document is not valid JSON: ${(error as Error).message}`);
  }
}

/** The configuration as one document, its versions, and a preview of the changes of another one before it is applied. */
export function Configuration() {
  const current = useQuery({
    queryKey: ['configuration'],
    queryFn: () => answer(admin.GET('/v1/configuration')),
  });
  return (
    <Screen
      title="Configuration"
      about="The whole configuration as one JSON document that names resources by key. Edit or paste one, compare it, then apply it. Earlier versions can be restored."
    >
      {current.isPending && <Waiting />}
      {current.isError && <Failed error={current.error} />}
      {current.data && <Edited document={JSON.stringify(current.data, null, 2)} />}
    </Screen>
  );
}

function Edited({ document }: { document: string }) {
  const mayChange = useMayChange();
  /** What a person wrote or a version holds; `null` follows the configuration. */
  const [written, setWritten] = useState<string | null>(null);
  const text = written ?? document;
  const [difference, setDifference] = useState<Difference | null>(null);
  /** The version that the editor holds. */
  const [version, setVersion] = useState<number | null>(null);
  /** Grows with each edit: an answer about an earlier text is ignored. */
  const edition = useRef(0);
  const show = async (body: Document): Promise<void> => {
    const asked = edition.current;
    const answered = await answer(admin.POST('/v1/configuration/diff', { body }));
    if (edition.current === asked) setDifference(answered);
  };
  const compare = useChange({ run: async () => show(parsed(text)), quiet: true });
  const compareVersion = useChange({
    run: async (earlier: number) => {
      const asked = edition.current;
      const params = { path: { version: String(earlier) } };
      const body = await answer(admin.GET('/v1/configuration/versions/{version}', { params }));
      if (edition.current !== asked) return;
      edition.current += 1;
      setWritten(JSON.stringify(body, null, 2));
      setVersion(earlier);
      setDifference(null);
      await show(body);
    },
    quiet: true,
  });
  const apply = useChange({
    run: () => answer(admin.PUT('/v1/configuration', { body: parsed(text) })),
    done: 'The configuration is applied.',
    quiet: true,
  });
  const error = compare.error ?? compareVersion.error ?? apply.error;
  const edit = (next: string | null): void => {
    edition.current += 1;
    setWritten(next);
    setVersion(null);
    setDifference(null);
    compare.reset();
    compareVersion.reset();
  };
  const applyAll = (_: undefined, options: { onSettled: () => void }): void => {
    const applied = edition.current;
    apply.mutate(undefined, {
      ...options,
      // What was written since then stays.
      onRead: () => edition.current === applied && edit(null),
    });
  };
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-2">
        <textarea
          aria-label="Configuration document"
          spellCheck={false}
          value={text}
          onChange={({ target }) => edit(target.value)}
          className="h-[60dvh] w-full resize-y rounded-lg border border-line-strong bg-surface p-3 font-mono text-xs leading-5"
        />
        <div className="flex flex-wrap gap-2">
          <Button disabled={compare.isPending} onClick={() => compare.mutate()}>
            Compare
          </Button>
          {difference !== null && difference.changes.length > 0 && (
            <ConfirmedButton
              look="primary"
              change={{ isPending: apply.isPending, mutate: applyAll }}
              title={version === null ? 'Apply the document?' : `Restore version ${version}?`}
              action={version === null ? 'Apply' : 'Restore'}
              about={`Makes ${counted(difference.changes.length, 'change')} at once. What the document lacks is deleted.${version === null ? '' : ' Resources that were deleted since are created as new ones, without their history.'}`}
            >
              {version === null ? 'Apply' : `Restore version ${version}`}
            </ConfirmedButton>
          )}
          {text !== document && (
            <Button look="bare" onClick={() => edit(null)}>
              {version === null ? 'Undo my edits' : 'Back to the configuration'}
            </Button>
          )}
        </div>
        {error && <Failed error={error} />}
      </div>
      <Panel title={version === null ? 'Changes' : `Changes by restoring version ${version}`}>
        {difference === null && (
          <p className="text-muted">
            {mayChange
              ? 'Edit or paste a document, then compare it with the configuration.'
              : 'Paste a document, then compare it with the configuration.'}
          </p>
        )}
        {difference?.changes.length === 0 && <Empty title="No changes: the document equals the configuration" />}
        <ul className="flex flex-col gap-2">
          {difference?.changes.map(({ before, after, fields, ...change }, index) => (
            <li key={index}>
              <Tag tone={TONES[change.action]}>{change.action}</Tag> <strong>{changedText(change)}</strong>
              {change.action === 'update' &&
                fields?.map((field) => (
                  <span key={field} className="block pl-2 text-xs break-words text-muted">
                    {field}: {valueText(before?.[field])} → {valueText(after?.[field])}
                  </span>
                ))}
            </li>
          ))}
        </ul>
      </Panel>
      <Versions
        className="lg:col-span-2"
        chosen={version}
        busy={compareVersion.isPending}
        blocked={version === null && text !== document}
        onCompare={(earlier) => compareVersion.mutate(earlier)}
      />
    </div>
  );
}

const PAGE = 10;

interface VersionsProps {
  chosen: number | null;
  busy: boolean;
  /** The editor has unsaved edits, which a version would replace. */
  blocked: boolean;
  onCompare: (version: number) => void;
  className: string;
}

/** Who made which version, when, and what it changed. */
function Versions({ chosen, busy, blocked, onCompare, className }: VersionsProps) {
  const [skip, setSkip] = useState(0);
  const versions = useQuery({
    queryKey: ['configuration', 'versions', skip],
    queryFn: () => answer(admin.GET('/v1/configuration/versions', { params: { query: { limit: PAGE, skip } } })),
    placeholderData: keepPreviousData,
  });
  return (
    <Panel
      title="Versions"
      className={className}
      actions={
        <>
          {skip > 0 && <Button onClick={() => setSkip(skip - PAGE)}>Newer</Button>}
          {versions.data?.length === PAGE && <Button onClick={() => setSkip(skip + PAGE)}>Older</Button>}
        </>
      }
    >
      {versions.isPending && <Waiting />}
      {versions.isError && <Failed error={versions.error} />}
      {versions.data?.length === 0 && <Empty title={skip === 0 ? 'No versions yet' : 'No older versions'} />}
      {blocked && <p className="pb-2 text-muted">Apply or undo your edits to compare a version.</p>}
      <ul className="flex flex-col divide-y divide-line">
        {versions.data?.map((one, index) => (
          <li key={one.version} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2">
            <div className="min-w-0">
              <strong>Version {one.version}</strong> <Ago at={one.at} /> by <Code>{one.who}</Code>
              <span className="block text-xs break-words text-muted">{summaryOf(one)}</span>
            </div>
            {skip === 0 && index === 0 ? (
              <Tag>present</Tag>
            ) : (
              <Button
                aria-label={`Compare version ${one.version}`}
                disabled={busy || blocked || chosen === one.version}
                onClick={() => onCompare(one.version)}
              >
                Compare
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const NAMED_CHANGES = 3;

function summaryOf({ changes, changeCount }: Version): string {
  const named = changes.slice(0, NAMED_CHANGES).map((change) => `${change.action} ${changedText(change)}`);
  const more = changeCount - named.length;
  return [...named, ...(more > 0 ? [counted(more, 'other change')] : [])].join(', ');
}

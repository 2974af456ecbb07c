import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- the list of kinds, which the API does not send
import { AUDIT_KINDS } from '../../../src/domain/administration/audit.ts';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { adminKeysQuery, type AdminRead } from '../api/queries.ts';
import { useResources, type Entry } from '../api/use-resources.ts';
import { Labelled, SelectInput } from '../ui/fields.tsx';
import { counted, dayOfMoment, moment, timeOfMoment } from '../ui/format.ts';
import { Code, Empty, Failed, Screen, Shell, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { changedFields, words } from './changed-fields.ts';
import { DataTable } from '../ui/table.tsx';
import { Options } from '../ui/options.tsx';

type Logged = AdminRead<'/v1/audit-log'>[number];

const PAGE = 100;

const dayOf = ({ at }: Logged): string => dayOfMoment(at);

/** Authors that are no keys. */
const AUTHORS: Readonly<Record<string, string>> = {
  'first start': 'First start of Laurel',
  'key check': 'Check of keys',
};

/** The names of keys, by their prefixes. */
function useAuthors(): ReadonlyMap<string, string> {
  const keys = useQuery(adminKeysQuery).data;
  return useMemo(
    () => new Map([...(keys ?? []).map(({ prefix, name }) => [prefix, name] as const), ...Object.entries(AUTHORS)]),
    [keys],
  );
}

type Resources = ReadonlyMap<string, Entry>;

interface SubjectProps {
  of: Logged;
  authors: ReadonlyMap<string, string>;
  resources: Resources;
}

/** What an entry is about, as a link if it still exists. */
function Subject({ of: { kind, userId, resourceId, name }, authors, resources }: SubjectProps) {
  const known = resources.get(resourceId ?? '');
  const link = userId !== null ? ({ to: '/users/$id', params: { id: userId } } as const) : known?.link;
  // A session is named after its key.
  const ownName = kind === 'session' ? (authors.get(name ?? '') ?? name) : name;
  const text = userId ?? known?.text ?? ownName ?? '';
  if (link === undefined) return text;
  return (
    <Link {...link} className="text-accent hover:underline">
      {text}
    </Link>
  );
}

/** Changes of more fields are shown on request. */
const MOST_CHANGES = 4;

/** The changed fields, a line each, with their previous and new values; the raw values on request. */
function Changes({ of: { after, before }, resources }: { of: Logged; resources: Resources }) {
  const lines = changedFields({ before, after }, resources);
  if (lines.length === 0) return null;
  const shown = lines.slice(0, MOST_CHANGES);
  const rest = lines.length - shown.length;
  return (
    <div>
      <ul>
        {shown.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <details>
        <summary className="text-xs text-muted">
          {rest === 0 ? 'As JSON' : `${counted(rest, 'more field')}, as JSON`}
        </summary>
        <Shell>{JSON.stringify({ before, after }, null, 2)}</Shell>
      </details>
    </div>
  );
}

const actionText = ({ action, kind }: Logged): string => {
  if (kind === 'session' && action === 'create') return 'sign in';
  if (kind === 'session' && action === 'delete') return 'sign out';
  return `${action} ${words(kind)}`;
};

const columnsOf = (authors: ReadonlyMap<string, string>, resources: Resources): Column<Logged>[] => [
  { id: 'at', header: 'When', cell: ({ at }) => <span title={moment(at)}>{timeOfMoment(at)}</span> },
  {
    id: 'who',
    folds: true,
    header: 'Who',
    cell: ({ who }) => <span title={who}>{authors.get(who) ?? <Code>{who}</Code>}</span>,
  },
  { id: 'what', header: 'Action', cell: actionText },
  { id: 'name', header: 'Subject', cell: (entry) => <Subject of={entry} authors={authors} resources={resources} /> },
  { id: 'changes', header: 'Values', cell: (entry) => <Changes of={entry} resources={resources} />, wraps: true },
  { id: 'address', folds: true, header: 'From', cell: ({ address }) => address !== null && <Code>{address}</Code> },
];

const KINDS = AUDIT_KINDS.map((of) => ({ of, text: words(of) })).toSorted((one, other) =>
  one.text.localeCompare(other.text),
);

export function AuditLog() {
  const [kind, setKind] = useState('');
  const [who, setWho] = useState('');
  const entries = useInfiniteQuery({
    queryKey: ['audit-log', kind, who],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      answer(
        admin.GET('/v1/audit-log', {
          params: {
            query: {
              limit: PAGE,
              skip: pageParam,
              changes: false,
              ...(kind !== '' && { kind }),
              ...(who !== '' && { who }),
            },
          },
        }),
      ),
    getNextPageParam: (page, pages) => (page.length < PAGE ? undefined : pages.length * PAGE),
    placeholderData: keepPreviousData,
  });
  const { hasNextPage, isFetching, fetchNextPage } = entries;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const rows = useMemo(() => entries.data?.pages.flat() ?? [], [entries.data]);
  const authors = useAuthors();
  const all = useResources(true);
  const resources = new Map(all.map((one) => [one.id, one]));
  // Keys that were deleted, and application keys, are known by their prefixes alone.
  const others = [...new Set([...rows.map((row) => row.who), who])].filter((one) => one !== '' && !authors.has(one));
  return (
    <Screen title="Audit log" about="Every change by an administrator and every call of an assistant, newest first.">
      <div className="grid grid-cols-2 gap-3 md:flex">
        <Labelled label="Who">
          <SelectInput value={who} onChange={({ target }) => setWho(target.value)}>
            <option value="">Everybody</option>
            <Options
              of={[...authors].map(([prefix, name]) => [prefix, prefix in AUTHORS ? name : `${name} (${prefix})`])}
            />
            {others.map((prefix) => (
              <option key={prefix}>{prefix}</option>
            ))}
          </SelectInput>
        </Labelled>
        <Labelled label="What">
          <SelectInput value={kind} onChange={({ target }) => setKind(target.value)}>
            <option value="">Everything</option>
            <Options of={KINDS.map(({ of, text }) => [of, text])} />
          </SelectInput>
        </Labelled>
      </div>
      {entries.isError && <Failed error={entries.error} />}
      {entries.isPending ? (
        !entries.isError && <Waiting />
      ) : rows.length === 0 ? (
        <Empty title={kind === '' && who === '' ? 'No changes yet' : 'No entries match'}>
          {kind === '' && who === ''
            ? 'Changes to the configuration and to users appear here.'
            : 'Clear the filters to see all entries.'}
        </Empty>
      ) : (
        <DataTable
          tall
          label="Audit log"
          columns={columnsOf(authors, resources)}
          rows={rows}
          groupOf={dayOf}
          rowId={({ at, requestId, action, kind, resourceId, name, userId }) =>
            [at, requestId, action, kind, resourceId, name, userId].join(' ')
          }
          onEnd={onEnd}
        />
      )}
    </Screen>
  );
}

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { answer } from '../api/answer.ts';
import { eventCurl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { activityQuery, type User } from '../api/queries.ts';
import { BulkBar, useSelection } from '../ui/bulk.tsx';
import { ago, counted, number } from '../ui/format.ts';
import { PagedTable } from '../ui/paged-table.tsx';
import { Empty, Failed, Screen, Tag, Waiting } from '../ui/parts.tsx';
import { serverNowMs } from '../ui/server-time.ts';
import type { Column, Order } from '../ui/table-frame.tsx';
import { useUserActions } from './users-bulk.tsx';
import { UsersFilters } from './users-filters.tsx';
import { hasFilters, type UsersSearch } from './users-search.ts';
import { UserLink } from '../ui/user-link.tsx';

const COLUMNS: readonly Column<User>[] = [
  {
    id: 'id',
    header: 'ID',
    cell: ({ id }) => <UserLink id={id} />,
  },
  { id: 'name', header: 'Name', cell: ({ name }) => name ?? '' },
  { id: 'email', header: 'E-mail', cell: ({ email }) => email ?? '' },
  { id: 'tz', folds: true, header: 'Time zone', cell: ({ tz }) => tz ?? 'UTC' },
  { id: 'control', folds: true, header: 'Control group', cell: ({ control }) => (control ? <Tag>yes</Tag> : '') },
  { id: 'updated', header: 'Updated', cell: ({ updated }) => ago(updated) },
];

const route = getRouteApi('/users');
/** Delay after typing before a search starts. */
const TYPING_MS = 200;
const PAGE = 100;
const DAY_MS = 86_400_000;
const DAYS = { day: 1, week: 7, month: 30, 'not-week': 7, 'not-month': 30 } as const;

const read = ({ search, order }: UsersSearch, after: string | null, limit: number): Promise<User[]> =>
  answer(
    admin.GET('/v1/users', {
      params: {
        query: {
          limit,
          ...(after !== null && { after }),
          ...(search !== undefined ? { search } : order !== undefined && { order }),
        },
      },
    }),
  );

/** A page of filtered users. One API call examines only some users, so a page may take several. */
async function readFiltered(
  { attribute, level, streak, seen }: UsersSearch,
  { after, limit, onExamined }: { after: string | null; limit: number; onExamined: (count: number) => boolean },
): Promise<User[]> {
  const since = seen && new Date(serverNowMs() - DAYS[seen] * DAY_MS).toISOString();
  const filter = {
    ...(attribute !== undefined && { userAttributes: [attribute] }),
    ...(level !== undefined && { level }),
    ...(streak !== undefined && { minStreak: streak }),
    ...(since !== undefined && (seen!.startsWith('not-') ? { seenBefore: since } : { seenFrom: since })),
  };
  const found: User[] = [];
  for (let from = after; ;) {
    const { users, next, examined } = await answer(
      admin.GET('/v1/filtered-users', {
        params: { query: { limit: limit - found.length, ...filter, ...(from !== null && { after: from }) } },
      }),
    );
    found.push(...users);
    if (next === null || found.length === limit || !onExamined(examined)) return found;
    from = next;
  }
}

export function Users() {
  const asked = route.useSearch();
  const navigate = useNavigate();
  const [typed, setTyped] = useState(asked.search ?? '');
  const [known, setKnown] = useState<{ count: number; isAll: boolean } | null>(null);
  const [examined, setExamined] = useState(0);
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  const total = useQuery(activityQuery).data?.users ?? null;
  const selection = useSelection<User>(({ id }) => id, true);
  const actions = useUserActions();
  // The previous result stays visible until the next one arrives.
  const found = useQuery({
    queryKey: ['users', 'asked', asked],
    queryFn: async () => {
      if (!hasFilters(asked)) await read(asked, null, 1);
      return asked;
    },
    placeholderData: keepPreviousData,
  });
  const ask = useCallback(
    (next: UsersSearch) => void navigate({ to: '/users', search: next, replace: true }),
    [navigate],
  );
  const search = typed.trim();
  useEffect(() => {
    if (search === (asked.search ?? '')) return undefined;
    const timer = setTimeout(() => ask(search === '' ? {} : { search }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [search, asked.search, ask]);
  const shown = found.data;
  const order: Order = shown?.order ?? 'asc';
  const isFiltered = shown !== undefined && hasFilters(shown);
  const readPage = (after: string | null, limit: number): Promise<User[]> =>
    isFiltered
      ? readFiltered(shown, {
          after,
          limit,
          onExamined: (count) => {
            setExamined((before) => before + count);
            return isOpen.current;
          },
        })
      : read(shown!, after, limit);
  const readAll = async (most: number): Promise<User[]> => {
    const all: User[] = [];
    while (all.length < most) {
      const page = await readPage(all.at(-1)?.id ?? null, PAGE);
      all.push(...page);
      if (page.length < PAGE) break;
    }
    return all.slice(0, most);
  };
  return (
    <Screen title="Users">
      <div className="flex flex-wrap items-center gap-3">
        <input
          type="search"
          aria-label="Search users"
          placeholder="Beginning of an ID, name or e-mail"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          className="h-9 w-full max-w-sm rounded-md border border-line-strong bg-surface px-2.5"
        />
        <output className="text-muted">
          {known === null ? 'Loading …' : countText(known, shown !== undefined && isWhole(shown) ? total : null)}
          {isFiltered && examined > 0 && `, ${number(examined)} examined`}
        </output>
      </div>
      <UsersFilters
        asked={asked}
        onChange={(next) => {
          setTyped('');
          setExamined(0);
          ask(next);
        }}
      />
      {found.isError && <Failed error={found.error} retry={() => void found.refetch()} />}
      {shown === undefined ? (
        !found.isError && <Waiting />
      ) : (
        <>
          <BulkBar noun="user" selection={selection} actions={actions} readAll={readAll} />
          <PagedTable
            key={JSON.stringify(shown)}
            tall
            label="Users"
            columns={[...selection.columns, ...COLUMNS]}
            rowId={({ id }) => id}
            queryKey={['users', shown]}
            read={readPage}
            first={null as string | null}
            next={(_, { id }) => id}
            {...(shown.search === undefined &&
              !isFiltered && {
                sorted: { column: 'id', order, onSort: () => ask(order === 'asc' ? { order: 'desc' } : {}) },
              })}
            empty={
              isFiltered ? (
                <Empty title="No users match">Clear a filter to see more users.</Empty>
              ) : shown.search === undefined ? (
                <NoUsers />
              ) : (
                <NobodyFound search={shown.search} />
              )
            }
            onCounted={setKnown}
          />
        </>
      )}
    </Screen>
  );
}

const isWhole = (shown: UsersSearch): boolean => shown.search === undefined && !hasFilters(shown);

/** `total`: the tenant's users, if all of them are listed. */
const countText = ({ count, isAll }: { count: number; isAll: boolean }, total: number | null): string =>
  isAll ? counted(count, 'user') : total !== null ? counted(total, 'user') : `${number(count)} or more users`;

const NobodyFound = ({ search }: { search: string }) => (
  <Empty title={`No user begins with “${search}”`}>
    The search finds the beginning of an ID, a name, a last name or an e-mail address.
  </Empty>
);

const NoUsers = () => (
  <Empty title="No users yet" curl={eventCurl()}>
    A user is created with the first event. Send one, or{' '}
    <Link to="/import" className="text-accent underline">
      import users
    </Link>
    :
  </Empty>
);

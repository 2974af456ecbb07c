import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { answer } from '../api/answer.ts';
import { eventCurl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import type { User } from '../api/queries.ts';
import { ago } from '../ui/format.ts';
import { PagedTable } from '../ui/paged-table.tsx';
import { Empty, Failed, Screen, Tag, Waiting } from '../ui/parts.tsx';
import type { Column, Order } from '../ui/table-frame.tsx';

const COLUMNS: readonly Column<User>[] = [
  {
    id: 'id',
    header: 'ID',
    cell: ({ id }) => (
      <Link to="/users/$id" params={{ id }} className="font-medium text-accent hover:underline">
        {id}
      </Link>
    ),
  },
  { id: 'name', header: 'Name', cell: ({ name }) => name ?? '' },
  { id: 'email', header: 'E-mail', cell: ({ email }) => email ?? '', spare: true },
  { id: 'tz', header: 'Time zone', cell: ({ tz }) => tz ?? 'UTC', spare: true },
  { id: 'control', header: 'Group', cell: ({ control }) => (control ? <Tag>control</Tag> : ''), spare: true },
  { id: 'updated', header: 'Updated', cell: ({ updated }) => ago(updated) },
];

/** What the address says of the list. */
export interface UsersSearch {
  search?: string;
  order?: 'desc';
}

const route = getRouteApi('/users');
/** Nobody means every letter of what is typed. */
const TYPING_MS = 200;

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

export function Users() {
  const asked = route.useSearch();
  const navigate = useNavigate();
  const [typed, setTyped] = useState(asked.search ?? '');
  const [counted, setCounted] = useState('');
  // What is shown stays until the answer to something else is there.
  const found = useQuery({
    queryKey: ['users', 'asked', asked],
    queryFn: async () => {
      await read(asked, null, 1);
      return asked;
    },
    placeholderData: keepPreviousData,
  });
  const search = typed.trim();
  useEffect(() => {
    if (search === (asked.search ?? '')) return undefined;
    const timer = setTimeout(
      () => void navigate({ to: '/users', search: search === '' ? {} : { search }, replace: true }),
      TYPING_MS,
    );
    return () => clearTimeout(timer);
  }, [search, asked.search, navigate]);
  const shown = found.data;
  const order: Order = shown?.order ?? 'asc';
  return (
    <Screen title="Users">
      <div className="flex flex-wrap items-center gap-3">
        <input
          type="search"
          aria-label="Search users"
          placeholder="Begins with: ID, name or e-mail"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          className="h-9 w-full max-w-sm rounded-md border border-line-strong bg-surface px-2.5"
        />
        <output className="text-muted">{counted}</output>
      </div>
      {found.isError && <Failed error={found.error} retry={() => void found.refetch()} />}
      {shown === undefined ? (
        !found.isError && <Waiting />
      ) : (
        <PagedTable
          key={JSON.stringify(shown)}
          tall
          label="Users"
          columns={COLUMNS}
          rowId={({ id }) => id}
          queryKey={['users', shown]}
          read={(after: string | null, limit) => read(shown, after, limit)}
          first={null}
          next={(_, { id }) => id}
          {...(shown.search === undefined && {
            sorted: {
              column: 'id',
              order,
              onSort: () =>
                void navigate({ to: '/users', search: order === 'asc' ? { order: 'desc' } : {}, replace: true }),
            },
          })}
          empty={shown.search === undefined ? <NoUsers /> : <NobodyFound search={shown.search} />}
          onCounted={setCounted}
        />
      )}
    </Screen>
  );
}

const NobodyFound = ({ search }: { search: string }) => (
  <Empty title={`No user begins with “${search}”`}>
    Users are found by how their ID, name or e-mail address begins.
  </Empty>
);

const NoUsers = () => (
  <Empty title="No users yet" curl={eventCurl()}>
    A user is there from the first event on. Send one for a metric:
  </Empty>
);

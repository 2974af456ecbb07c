import { useQuery, type QueryKey } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { Pencil, Plus, Trash2 } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { one, type Issue } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { useChange } from '../api/change.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import type { AnalyticsSearch } from '../screens/analytics/search.ts';
import { Confirm } from '../ui/dialogs.tsx';
import { Failed, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { PagedTable } from '../ui/paged-table.tsx';
import { DataTable } from '../ui/table.tsx';
import { AnalysisLink } from './analysis-link.tsx';
import { Editor } from './editor.tsx';
import type { Field } from './field.ts';
import type { Preview } from './preview.tsx';

type Bulk = Promise<{ data?: { issues: Issue[] }; error?: unknown; response: Response }>;

type ReadPage<Item> = (query: { limit: number; skip: number }) => Promise<Item[]>;

export interface ResourceListProps<Item extends { id: string }> {
  /** A heading, if the screen has several lists. */
  title?: string;
  /** An item's name in the singular. */
  noun: string;
  /** An item's name in the question before its deletion. */
  nameOf: (item: Item) => string;
  /** All items at once or, if their number is unbounded, page by page. */
  query: { queryKey: QueryKey; queryFn?: unknown } | { queryKey: QueryKey; page: ReadPage<Item> };
  columns: readonly Column<Item>[];
  fields: readonly Field[];
  /** Untyped here: the form determines which fields are sent. */
  create: (item: never) => Bulk;
  update?: (item: never) => Bulk;
  remove: (id: string) => Bulk;
  /** Describes an item's effect before it is saved. */
  preview?: Preview;
  /** The place of an item's analysis. */
  analysis?: (item: Item) => AnalyticsSearch;
  /** Shown if the list is empty. */
  empty: ReactNode;
  /** Describes the consequences of a deletion for resources that refer to the item. */
  removal?: string;
  /** Shows values of a new item that are visible only once. */
  onCreated?: (body: unknown) => void;
}

/** The calls that create, change and delete the resources at a path of the Admin API. */
export function editsOf(path: string): Required<Pick<ResourceListProps<never>, 'create' | 'update' | 'remove'>> {
  // The paths of all lists take the same parameters.
  const at = path as '/v1/metrics';
  return {
    create: (item) => admin.POST(at, { params: { query: { strict: true } }, body: [item] }),
    update: (item) => admin.PATCH(at, { body: [item] }),
    remove: (id) => admin.DELETE(at, { params: { query: { ids: [id] } } }),
  };
}

/** A list of configured resources with its editor. */
export function ResourceList<Item extends { id: string }>(props: ResourceListProps<Item>) {
  const { title, noun, nameOf, columns, fields, create, update, remove, analysis, empty, removal, onCreated } = props;
  const mayChange = useMayChange();
  const { edited, setEdited } = useEdited<Item>(noun, props.query);
  const [doomed, setDoomed] = useState<Item | null>(null);
  const removing = useChange({ run: (id: string) => one(remove(id)), done: `The ${noun} is deleted.` });
  const actions: Column<Item> = {
    id: 'actions',
    header: 'Actions',
    unseen: true,
    align: 'right',
    cell: (item) => (
      <span className="inline-flex">
        {analysis !== undefined && <AnalysisLink to={analysis(item)} of={nameOf(item)} />}
        {mayChange && update !== undefined && (
          <Button
            look="bare"
            className="size-8 px-0"
            aria-label={`Edit ${nameOf(item)}`}
            onClick={() => setEdited(item)}
          >
            <Pencil size={14} />
          </Button>
        )}
        {mayChange && (
          <Button
            look="bare"
            className="size-8 px-0"
            aria-label={`Delete ${nameOf(item)}`}
            onClick={() => setDoomed(item)}
          >
            <Trash2 size={14} />
          </Button>
        )}
      </span>
    ),
  };
  return (
    <>
      <div className="flex items-center justify-between gap-3">
        {title !== undefined && <h2 className="text-base font-semibold">{title}</h2>}
        {mayChange && (
          <Button look={title === undefined ? 'primary' : 'plain'} onClick={() => setEdited('new')}>
            <Plus size={15} aria-hidden /> New {noun}
          </Button>
        )}
      </div>
      <Items
        query={props.query}
        label={`All: ${noun}`}
        columns={mayChange || analysis !== undefined ? [...columns, actions] : columns}
        empty={empty}
      />
      <Editor
        open={edited !== null}
        key={edited === null || edited === 'new' ? String(edited) : edited.id}
        noun={noun}
        fields={fields}
        item={edited === 'new' ? null : edited}
        create={async (item) => {
          const made = await one(create(item as never));
          onCreated?.(made);
        }}
        update={update && ((item) => one(update(item as never)))}
        preview={props.preview}
        analysis={edited === null || edited === 'new' ? undefined : analysis?.(edited)}
        onClose={() => setEdited(null)}
      />
      <Confirm
        open={doomed !== null}
        onClose={() => setDoomed(null)}
        title={doomed === null ? '' : `Delete ${nameOf(doomed)}?`}
        action="Delete"
        busy={removing.isPending}
        onConfirm={() => removing.mutate(doomed!.id, { onSettled: () => setDoomed(null) })}
      >
        {removal ?? 'This takes effect at once.'}
      </Confirm>
    </>
  );
}

/** The edited resource. The address can open the editor: `#new-metric` for a new resource, `#edit-` and an ID for one that is listed. */
function useEdited<Item extends { id: string }>(noun: string, query: ResourceListProps<Item>['query']) {
  const mayChange = useMayChange();
  const navigate = useNavigate();
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const [chosen, setChosen] = useState<Item | 'new' | null>(null);
  const listed = useQuery({
    queryKey: query.queryKey,
    enabled: false,
    ...('page' in query ? {} : (query as { queryFn: () => Promise<Item[]> })),
  }).data as Item[] | undefined;
  const isNew = hash === `new-${noun.replaceAll(' ', '-')}`;
  const linked = isNew ? 'new' : 'page' in query ? undefined : listed?.find(({ id }) => hash === `edit-${id}`);
  const setEdited = (next: Item | 'new' | null): void => {
    setChosen(next);
    if (linked !== undefined) void navigate({ to: '.', hash: '', replace: true });
  };
  // An editor may be opened before the list is read again: it follows what is stored.
  const present = chosen === null || chosen === 'new' ? chosen : (listed?.find(({ id }) => id === chosen.id) ?? chosen);
  return { edited: present ?? (mayChange ? (linked ?? null) : null), setEdited };
}

interface ItemsProps<Item> {
  query: { queryKey: QueryKey; queryFn?: unknown } | { queryKey: QueryKey; page: ReadPage<Item> };
  label: string;
  columns: readonly Column<Item>[];
  empty: ReactNode;
}

function Items<Item extends { id: string }>({ query, ...props }: ItemsProps<Item>) {
  if (!('page' in query)) return <AllItems query={query} {...props} />;
  const { queryKey, page } = query;
  return (
    <PagedTable
      {...props}
      rowId={({ id }) => id}
      queryKey={[...queryKey, 'pages']}
      read={(skip: number, limit) => page({ skip, limit })}
      first={0}
      next={(skip, _, size) => skip + size}
    />
  );
}

function AllItems<Item extends { id: string }>({ query, label, columns, empty }: ItemsProps<Item>) {
  const items = useQuery(query as { queryKey: QueryKey; queryFn: () => Promise<Item[]> });
  return (
    <>
      {items.isError && <Failed error={items.error} retry={() => void items.refetch()} />}
      {items.isPending && <Waiting />}
      {items.data?.length === 0 && empty}
      {items.data && items.data.length > 0 && (
        <DataTable label={label} columns={columns} rows={items.data} rowId={({ id }) => id} />
      )}
    </>
  );
}

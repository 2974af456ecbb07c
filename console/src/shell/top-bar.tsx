import { useIsMutating, useQuery, useQueryClient } from '@tanstack/react-query';
import { LogOut, Menu as MenuIcon, Monitor, Moon, Search as SearchIcon, Sun } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { all } from '../api/answer.ts';
import { admin, sent } from '../api/client.ts';
import { organisationQuery } from '../api/queries.ts';
import { chooseTenant, signOut, type Session } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { useSay } from '../ui/toasts.tsx';
import { applyTheme, storedTheme, type Theme } from './theme.ts';

/** `onTenant`: called when another tenant is chosen. */
export function TopBar({ session, onTenant }: { session: Session; onTenant: () => void }) {
  const queries = useQueryClient();
  const say = useSay();
  const leave = (): void => {
    signOut(queries).catch((error: Error) => say(error.message, 'problem'));
  };
  return (
    <header className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-surface px-3 md:px-6">
      <OpenDrawer />
      {session.tenantId === null && <TenantSwitch onChosen={onTenant} />}
      <OpenSearch />
      <div className="ml-auto flex items-center gap-2">
        <span className="hidden max-w-56 truncate text-muted sm:inline" title={`Signed in with ${session.prefix}`}>
          {session.name}
        </span>
        <ThemeSwitch />
        <Button look="bare" aria-label="Sign out" title="Sign out" onClick={leave}>
          <LogOut size={15} />
        </Button>
      </div>
    </header>
  );
}

const Search = lazy(async () => ({ default: (await import('./search.tsx')).Search }));

/** Opens the search by a button or Ctrl K. */
function OpenSearch() {
  const [open, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setWasOpen(true);
      setOpen((before) => !before);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <Button
        aria-keyshortcuts="Control+K"
        className="text-muted"
        onClick={() => {
          setWasOpen(true);
          setOpen(true);
        }}
      >
        <SearchIcon size={15} aria-hidden /> <span className="max-sm:sr-only">Search</span>
        <kbd className="ml-2 rounded border border-line px-1 font-sans text-xs max-md:hidden" aria-hidden>
          Ctrl K
        </kbd>
      </Button>
      {wasOpen && (
        <Suspense>
          <Search key={String(open)} open={open} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

const Drawer = lazy(async () => ({ default: (await import('./drawer.tsx')).Drawer }));

/** Opens the navigation on a narrow screen. */
function OpenDrawer() {
  const [open, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  return (
    <>
      <Button
        look="bare"
        aria-label="Screens"
        aria-expanded={open}
        className="md:hidden"
        onClick={() => {
          setWasOpen(true);
          setOpen(true);
        }}
      >
        <MenuIcon size={18} />
      </Button>
      {wasOpen && (
        <Suspense>
          <Drawer open={open} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** Chooses the tenant whose data is shown. */
function TenantSwitch({ onChosen }: { onChosen: () => void }) {
  const queries = useQueryClient();
  const { data: organisation } = useQuery(organisationQuery);
  const { data: tenants } = useQuery({
    queryKey: ['tenants'],
    // A longer list is of no use in a menu.
    queryFn: () => all((query) => admin.GET('/v1/tenants', { params: { query } }), 1_000),
    enabled: organisation?.multiTenancy === true,
  });
  // A change may send several requests, which belong to one tenant.
  const isChanging = useIsMutating() > 0;
  if (organisation?.multiTenancy !== true) return null;
  const choose = (customerId: string): void => {
    void chooseTenant(customerId === '' ? null : customerId, queries);
    onChosen();
  };
  return (
    <select
      aria-label="Tenant"
      value={sent.tenantId ?? ''}
      disabled={isChanging}
      onChange={({ target }) => choose(target.value)}
      className="h-8 max-w-48 rounded-md border border-line bg-surface px-2"
    >
      <option value="">Choose a tenant …</option>
      {tenants
        ?.filter(({ status }) => status === 'active')
        .map(({ customerId, name }) => (
          <option key={customerId} value={customerId}>
            {name}
          </option>
        ))}
    </select>
  );
}

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const ICONS = { system: Monitor, light: Sun, dark: Moon };

function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const Icon = ICONS[theme];
  const choose = (): void => {
    applyTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  return (
    <Button look="bare" aria-label={`Colours: ${theme}`} title={`Colours: ${theme}`} onClick={choose}>
      <Icon size={15} />
    </Button>
  );
}

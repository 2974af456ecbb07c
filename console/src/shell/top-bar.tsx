import { Dialog } from '@base-ui/react/dialog';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { LogOut, Menu as MenuIcon, Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { all } from '../api/answer.ts';
import { admin, sent } from '../api/client.ts';
import { organisationQuery } from '../api/queries.ts';
import { chooseTenant, signOut, type Session } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Tag } from '../ui/parts.tsx';
import { useSay } from '../ui/toasts.tsx';
import { Navigation } from './navigation.tsx';
import { applyTheme, storedTheme, type Theme } from './theme.ts';

export function TopBar({ session }: { session: Session }) {
  const queries = useQueryClient();
  const say = useSay();
  const leave = (): void => {
    signOut(queries).catch((error: Error) => say(error.message, 'problem'));
  };
  return (
    <header className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-surface px-3 md:px-6">
      <Drawer />
      {session.tenantId === null && <TenantSwitch />}
      <div className="ml-auto flex items-center gap-2">
        {session.access === 'read' && <Tag tone="warn">read-only</Tag>}
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

/** The navigation where there is no room for it beside the screen. */
function Drawer() {
  const [open, setOpen] = useState(false);
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger
        render={
          <Button look="bare" aria-label="Screens" className="md:hidden">
            <MenuIcon size={18} />
          </Button>
        }
      />
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-30 bg-black/40" />
        <Dialog.Popup
          aria-label="Screens"
          className="fixed inset-y-0 left-0 z-40 w-60 overflow-y-auto bg-surface shadow-pop outline-none"
        >
          <Navigation onChosen={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Whose data is shown, where there are several tenants. */
function TenantSwitch() {
  const queries = useQueryClient();
  const { data: organisation } = useQuery(organisationQuery);
  const { data: tenants } = useQuery({
    queryKey: ['tenants'],
    // Nobody chooses from more than that.
    queryFn: () => all((query) => admin.GET('/v1/tenants', { params: { query } }), 1_000),
    enabled: organisation?.multiTenancy === true,
  });
  if (organisation?.multiTenancy !== true) return null;
  return (
    <select
      aria-label="Tenant"
      value={sent.tenantId ?? ''}
      onChange={({ target }) => void chooseTenant(target.value === '' ? null : target.value, queries)}
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

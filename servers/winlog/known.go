package winlog

// A knownEvent is our text for an event that many people know, for logs that do not
// bring its own: those texts lie in programs of the machine that wrote the log.
type knownEvent struct {
	provider string // in lower case
	text     string // see fill
}

const (
	security = "microsoft-windows-security-auditing"
	services = "service control manager"
	subject  = `{SubjectDomainName}\{SubjectUserName}`
	target   = `{TargetDomainName}\{TargetUserName}`
	origin   = "from {IpAddress} {WorkstationName}"
)

var known = map[uint32][]knownEvent{
	7:  {{"disk", "The device {0|0} has a bad block."}},
	11: {{"disk", "The driver found an error of the controller of {0|0}."}},
	12: {{"microsoft-windows-kernel-general", "Windows started, version {MajorVersion}.{MinorVersion}.{BuildVersion}."}},
	13: {{"microsoft-windows-kernel-general", "Windows is shutting down."}},
	41: {{"microsoft-windows-kernel-power", "The system started again without having shut down cleanly: it crashed, hung or lost power. Bugcheck code {BugcheckCode}, power button at {PowerButtonTimestamp}."}},
	42: {{"microsoft-windows-kernel-power", "The system goes to sleep, reason {Reason}."}},
	51: {{"disk", "An error while paging to or from {0|0}."}},
	55: {
		{"ntfs", "The structure of the file system on {DriveName|0} is damaged; run chkdsk. {Description}"},
		{"microsoft-windows-ntfs", "The structure of the file system on {DriveName|0} is damaged; run chkdsk. {Description}"},
	},
	104: {{"microsoft-windows-eventlog", "The log {Channel} was cleared by " + subject + "."}},
	129: {{"storahci", "The device {0|0} was reset: it did not answer in time."}},
	153: {{"disk", "A read or write on {0|0} had to be tried again."}},
	219: {{"microsoft-windows-kernel-pnp", "The driver {FailureName} could not be loaded for {DriverName}, status {Status}."}},
	1000: {
		{"application error", "The program {AppName|0} {AppVersion|1} crashed in {ModuleName|3} {ModuleVersion|4}: exception {ExceptionCode|6} at offset {FaultingOffset|7}, process {ProcessId|8}, {AppPath|10}."},
	},
	1001: {
		{"windows error reporting", "A fault was reported: {EventName|2}, {P1|5} {P2|6}, {P4|8}; bucket {Bucket|0}, response {Response|3}."},
		{"microsoft-windows-wer-systemerrorreporting", "The system started again after a bugcheck: {param1|0}. Dump: {param2|1}."},
		{"bugcheck", "The system started again after a bugcheck: {param1|0}. Dump: {param2|1}."},
	},
	1002: {{"application hang", "The program {AppName|0} {AppVersion|1} stopped answering and was closed, {AppPath|5}."}},
	1026: {{".net runtime", "A .NET program ended by an exception that nobody handled: {0|0}"}},
	1074: {{"user32", "{param1|0} ordered a {param5|4} of {param2|1} for {param7|6}. Reason: {param3|2} ({param4|3}). Comment: {param6|5}"}},
	1076: {{"user32", "{param5|4} gave a reason for the last unexpected shutdown: {param1|0}. Comment: {param6|5}"}},
	1100: {{"microsoft-windows-eventlog", "The event log service shut down."}},
	1102: {{"microsoft-windows-eventlog", "The log of audit events was cleared by " + subject + " (logon {SubjectLogonId})."}},
	1104: {{"microsoft-windows-eventlog", "The log of audit events is full."}},
	1129: {{"microsoft-windows-grouppolicy", "Group policy could not be processed: no domain controller was reached."}},
	4101: {{"display", "The display driver {0|0} stopped answering and was started again."}},
	4608: {{security, "Windows started; auditing is on."}},
	4616: {{security, "The clock was changed from {PreviousTime} to {NewTime} by " + subject + ", {ProcessName}."}},
	4624: {{security, target + " logged on, type {LogonType:logon}, " + origin + ", by {ProcessName} ({AuthenticationPackageName})."}},
	4625: {{security, target + " could not log on, type {LogonType:logon}, " + origin + ": {SubStatus:status}, status {Status:status}, by {ProcessName}."}},
	4634: {{security, target + " logged off, type {LogonType:logon}."}},
	4647: {{security, target + " asked to log off."}},
	4648: {{security, subject + " logged on as " + target + " with credentials that it named, at {TargetServerName}, by {ProcessName}, from {IpAddress}."}},
	4657: {{security, subject + " changed the registry value {ObjectName} {ObjectValueName}: {OldValue} became {NewValue}, by {ProcessName}."}},
	4663: {{security, subject + " accessed {ObjectType} {ObjectName} ({AccessList}), by {ProcessName}."}},
	4672: {{security, subject + " logged on with special rights: {PrivilegeList}"}},
	4688: {{security, subject + " started {NewProcessName} (process {NewProcessId}) from {ParentProcessName} (process {ProcessId}). Command line: {CommandLine}"}},
	4689: {{security, "{ProcessName} (process {ProcessId}) of " + subject + " ended, status {Status}."}},
	4697: {{security, subject + " installed the service {ServiceName}: {ServiceFileName}, account {ServiceAccount}."}},
	4698: {{security, subject + " created the scheduled task {TaskName}."}},
	4699: {{security, subject + " deleted the scheduled task {TaskName}."}},
	4702: {{security, subject + " changed the scheduled task {TaskName}."}},
	4719: {{security, subject + " changed the audit policy: {SubcategoryGuid} {AuditPolicyChanges}."}},
	4720: {{security, subject + " created the user account " + target + " ({TargetSid})."}},
	4722: {{security, subject + " enabled the user account " + target + "."}},
	4723: {{security, subject + " tried to change the password of " + target + "."}},
	4724: {{security, subject + " tried to reset the password of " + target + "."}},
	4725: {{security, subject + " disabled the user account " + target + "."}},
	4726: {{security, subject + " deleted the user account " + target + "."}},
	4728: {{security, subject + " added {MemberName} {MemberSid} to the global group " + target + "."}},
	4732: {{security, subject + " added {MemberName} {MemberSid} to the local group " + target + "."}},
	4733: {{security, subject + " removed {MemberName} {MemberSid} from the local group " + target + "."}},
	4738: {{security, subject + " changed the user account " + target + "."}},
	4740: {{security, "The user account {TargetUserName} was locked out; the logons came from {TargetDomainName}."}},
	4756: {{security, subject + " added {MemberName} {MemberSid} to the universal group " + target + "."}},
	4767: {{security, subject + " unlocked the user account " + target + "."}},
	4768: {{security, target + " asked for a Kerberos ticket, from {IpAddress}, result {Status}."}},
	4769: {{security, target + " asked for a Kerberos ticket for {ServiceName}, from {IpAddress}, result {Status}."}},
	4771: {{security, "Kerberos refused {TargetUserName}, from {IpAddress}, status {Status}."}},
	4776: {{security, "The credentials of {TargetUserName} from {Workstation} were checked: {Status:status}."}},
	4798: {{security, subject + " listed the local groups of " + target + ", by {CallerProcessName}."}},
	4799: {{security, subject + " listed the members of the local group " + target + ", by {CallerProcessName}."}},
	5140: {{security, subject + " opened the share {ShareName} from {IpAddress}."}},
	5145: {{security, subject + " was checked for {RelativeTargetName} on the share {ShareName}, from {IpAddress}."}},
	5152: {{security, "The firewall dropped a packet of {Application} (process {ProcessId}): {SourceAddress}:{SourcePort} to {DestAddress}:{DestPort}, protocol {Protocol}."}},
	5156: {{security, "The firewall let a connection of {Application} (process {ProcessID}) through: {SourceAddress}:{SourcePort} to {DestAddress}:{DestPort}, protocol {Protocol}."}},
	5157: {{security, "The firewall blocked a connection of {Application} (process {ProcessID}): {SourceAddress}:{SourcePort} to {DestAddress}:{DestPort}, protocol {Protocol}."}},
	6005: {{"eventlog", "The event log service started, as it does when the system starts."}},
	6006: {{"eventlog", "The event log service stopped, as it does in a clean shutdown."}},
	6008: {{"eventlog", "The shutdown before this start, at {0|0} on {0|1}, was unexpected."}},
	6009: {{"eventlog", "Windows {0|0} build {0|1} {0|2} {0|3} started."}},
	6013: {{"eventlog", "The system has been up for {0|4} seconds."}},
	7000: {{services, "The service {param1|0} could not start: {param2|1}."}},
	7001: {{services, "The service {param1|0} could not start, since {param2|1} did not: {param3|2}."}},
	7009: {{services, "The service {param2|1} did not connect within {param1|0} ms."}},
	7011: {{services, "The service {param2|1} did not answer within {param1|0} ms."}},
	7022: {{services, "The service {param1|0} hung while it started."}},
	7023: {{services, "The service {param1|0} ended with the error {param2|1}."}},
	7024: {{services, "The service {param1|0} ended with its own error {param2|1}."}},
	7031: {{services, "The service {param1|0} ended unexpectedly, {param2|1} times so far. In {param3|2} ms: {param5|4}."}},
	7034: {{services, "The service {param1|0} ended unexpectedly, {param2|1} times so far."}},
	7036: {{services, "The service {param1|0} is now {param2|1}."}},
	7040: {{services, "The start type of the service {param1|0} was changed from {param2|1} to {param3|2}."}},
	7045: {{services, "A service was installed: {ServiceName}, file {ImagePath}, {ServiceType}, {StartType}, account {AccountName}."}},
}

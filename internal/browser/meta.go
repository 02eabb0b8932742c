package browser

import "github.com/tenon-mcp/tenon/tool"

// Meta returns what is declared of each tool of the server. The server itself calls
// most of them destructive, navigation among them, since a page may do anything;
// what is held against a tool here is what it does to the machine and to others.
func Meta() map[string]tool.Meta {
	m := map[string]tool.Meta{}
	for _, t := range tools {
		meta := tool.Meta{
			Registered: true, ReadOnly: t.reads, Idempotent: t.reads, ConcurrencySafe: false,
			SideEffect: t.effect, RiskLevel: t.risk,
			MaxResultChars: 40_000, SearchHint: "browser web page " + t.hint,
			Labels: []tool.Label{tool.LabelUntrusted}, // what a page says was written by others
		}
		meta.Destructive = t.risk == tool.RiskHigh
		m[t.name] = meta
	}
	return m
}

type declared struct {
	name   string
	reads  bool
	effect tool.SideEffect
	risk   tool.RiskLevel
	hint   string
}

var tools = []declared{
	{"browser_navigate", false, tool.EffectNetwork, tool.RiskMedium, "open url navigate goto 打开 网页"},
	{"browser_navigate_back", false, tool.EffectNetwork, tool.RiskMedium, "back history 后退"},
	{"browser_tabs", false, tool.EffectNetwork, tool.RiskMedium, "tabs open close select 标签页"},
	{"browser_close", false, tool.EffectNone, tool.RiskLow, "close end 关闭"},
	{"browser_resize", false, tool.EffectNone, tool.RiskLow, "window size 窗口 大小"},
	{"browser_emulate_media", false, tool.EffectNone, tool.RiskLow, "dark mode print media 媒体"},

	{"browser_snapshot", true, tool.EffectNone, tool.RiskLow, "read elements text accessibility snapshot 快照 内容"},
	{"browser_find", true, tool.EffectNone, tool.RiskLow, "find text on the page 查找"},
	{"browser_take_screenshot", true, tool.EffectNone, tool.RiskLow, "screenshot picture image png 截图"},
	{"browser_console_messages", true, tool.EffectNone, tool.RiskLow, "console log errors 控制台"},
	{"browser_network_requests", true, tool.EffectNone, tool.RiskLow, "requests traffic 网络 请求"},
	{"browser_network_request", true, tool.EffectNone, tool.RiskLow, "request headers body 网络 请求"},
	{"browser_wait_for", true, tool.EffectNone, tool.RiskLow, "wait text time 等待"},

	{"browser_click", false, tool.EffectExternal, tool.RiskMedium, "click button link 点击"},
	{"browser_hover", false, tool.EffectExternal, tool.RiskMedium, "hover mouse 悬停"},
	{"browser_drag", false, tool.EffectExternal, tool.RiskMedium, "drag drop mouse 拖拽"},
	{"browser_drop", false, tool.EffectExternal, tool.RiskMedium, "drop files text 拖放"},
	{"browser_type", false, tool.EffectExternal, tool.RiskMedium, "type text input 输入"},
	{"browser_press_key", false, tool.EffectExternal, tool.RiskMedium, "press key keyboard 按键"},
	{"browser_fill_form", false, tool.EffectExternal, tool.RiskMedium, "fill form fields 表单 填写"},
	{"browser_select_option", false, tool.EffectExternal, tool.RiskMedium, "select option dropdown 选择"},
	{"browser_handle_dialog", false, tool.EffectExternal, tool.RiskMedium, "dialog alert confirm accept 对话框"},
	{"browser_file_upload", false, tool.EffectExternal, tool.RiskMedium, "upload file 上传"},
	{"browser_evaluate", false, tool.EffectExternal, tool.RiskMedium, "javascript evaluate script 脚本"},
	{RunCode, false, tool.EffectExternal, tool.RiskHigh, "playwright code script 代码"},
}
